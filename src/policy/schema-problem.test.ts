import { expect, test } from 'vitest'
import { z } from 'zod'

import { schemaFormProblem, schemaProblem } from './schema-problem.js'

const SCHEMA = z.toJSONSchema(z.object({ count: z.number().min(1), note: z.string().optional() }), {
  target: 'draft-7',
}) as never

test.each([
  [{ count: 1 }, undefined],
  [{ count: 2, note: 'x' }, undefined],
  [{ count: 0 }, /^count: /],
  [{ note: 'x' }, /^count: /],
  [{ count: 1, other: 2 }, /other/],
  ['text', /object/],
])('%j and a schema: %s', (value, problem) => {
  const found = schemaProblem(SCHEMA, value)
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(problem)
})

test('what is no JSON Schema is told', () => {
  expect(schemaFormProblem(SCHEMA)).toBeUndefined()
  expect(schemaFormProblem('object')).toBe('it is no object.')
  expect(schemaFormProblem({ type: 'whatever' })).toMatch(/whatever/)
})
