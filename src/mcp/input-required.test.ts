import { expect, test } from 'vitest'

import { askPerson, readWaitingInput, responsesOf } from './input-required.js'

const elicit = (requestedSchema: object, message = 'Which?') => ({
  ...{ method: 'elicitation/create' as const, params: { message, requestedSchema } },
})
const ask = (inputRequests: object, requestState?: string) =>
  askPerson('demo', { resultType: 'input_required', inputRequests, requestState } as never)
const object = { type: 'object', properties: { name: { type: 'string' } } }

test('several questions are one form, and their answers go back under their keys', () => {
  const pending = ask({ one: elicit(object, 'First?'), two: elicit(object, 'Second?') })
  expect(pending.form).toMatchObject({
    properties: { one: { description: 'First?' }, two: { description: 'Second?' } },
    required: ['one', 'two'],
  })
  const waiting = readWaitingInput(pending.resume) ?? { keys: [] }
  expect(waiting).toEqual({ keys: ['one', 'two'] })
  const result = { one: { name: 'a' }, two: { name: 'b' } }
  expect(responsesOf(waiting, { status: 'success', result })).toEqual({
    one: { action: 'accept', content: { name: 'a' } },
    two: { action: 'accept', content: { name: 'b' } },
  })
  expect(responsesOf(waiting, { status: 'error', error: 'No.' })).toEqual({
    one: { action: 'decline' },
    two: { action: 'decline' },
  })
})

test('a form has no pattern and no reference', () => {
  const hostile = {
    ...{ type: 'object', $ref: '#', patternProperties: { '(a+)+$': {} } },
    properties: { name: { type: 'string', pattern: '(a+)+$' } },
  }
  expect(ask({ one: elicit(hostile) }).form).toEqual({
    ...{ type: 'object', description: 'Which?', properties: { name: { type: 'string' } } },
  })
})

test('a server that asks nothing is called again with its state at once', () => {
  expect(ask({}, 'state')).toEqual({
    ...{ status: 'pending', after: 0, resume: { input: { keys: [], requestState: 'state' } } },
  })
})

test.each([
  ['a model', { method: 'sampling/createMessage', params: { messages: [] } }, /sampling\/createMessage/],
  ['folders', { method: 'roots/list' }, /roots\/list/],
  [
    'a page',
    { method: 'elicitation/create', params: { mode: 'url', url: 'https://a', message: 'Go' } },
    /by forms/,
  ],
  ['a form of 20 KB', elicit({ type: 'object', title: 'x'.repeat(20_000) }), /more than 16384 characters/],
])('a request for %s is an error that says so', (_what, request, problem) => {
  expect(() => ask({ one: request })).toThrow(problem)
})
