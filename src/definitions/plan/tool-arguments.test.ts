import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseArguments, parseToolArguments } from './tool-arguments.js'

const args = z.object({ orderId: z.string(), lines: z.array(z.int()).default([]) })
const problemOf = (rawJson: string) => parseToolArguments({ args }, rawJson)

test('arguments are parsed with their defaults', () => {
  expect(problemOf('{"orderId":"A-17","other":1}')).toEqual({
    ok: true,
    args: { orderId: 'A-17', lines: [] },
  })
})

test('every wrong argument is named with its path', () => {
  expect(problemOf('{"lines":[1,"two"]}')).toEqual({
    ok: false,
    problem:
      'orderId: Invalid input: expected string, received undefined; lines[1]: Invalid input: expected number, received string',
  })
})

test('broken JSON and other values are problems', () => {
  expect(problemOf('{"orderId":')).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/got broken JSON/),
  })
  const got = (what: string) => ({
    ok: false,
    problem: `Expected the arguments as a JSON object, got ${what}`,
  })
  expect(problemOf('[]')).toEqual(got('an array'))
  expect(problemOf('null')).toEqual(got('null'))
  expect(problemOf('"A-17"')).toEqual(got('a string'))
})

test('an empty text counts as no arguments', () => {
  expect(parseToolArguments({}, '')).toEqual({ ok: true, args: {} })
  expect(parseToolArguments({}, '{"anything":1}')).toEqual({ ok: true, args: {} })
  expect(problemOf(' ')).toMatchObject({ ok: false })
})

test('a check that throws is a problem', () => {
  const schema = z.object({ id: z.string().refine(async () => true) })
  expect(parseArguments(schema, '{"id":"x"}')).toMatchObject({ ok: false })
})
