import { expect, test } from 'vitest'
import type { PendingRequest } from '../../client/answers/pending-request.js'
import { answerSchema, formOf, questionOf } from './answer-forms.js'

const approval: PendingRequest = {
  ...{ id: 'r', kind: 'approval', toolCallId: 'c', action: 'tool', toolName: 'refund', requestedAt: 1 },
  ...{ description: 'Pays back', args: { euros: 4 }, schema: { type: 'object' } },
  preview: [{ type: 'text', text: 'x'.repeat(5_000) }],
  answers: ['approve', 'deny', 'arguments'],
}
const budget: PendingRequest = {
  ...{ id: 'r', kind: 'budget', scope: 'run', period: 'total', limit: 'maxSteps', most: 3, used: 3 },
  requestedAt: 1,
}
const variables: PendingRequest = {
  ...{ id: 'r', kind: 'variables', agent: 'mailer', required: ['A', 'B'], missing: ['B'], requestedAt: 1 },
}
const callWith = (form?: object): PendingRequest => ({
  ...{ id: 'r', kind: 'call', toolName: 'survey', args: { question: 'How?' }, requestedAt: 1 },
  ...(form !== undefined && { form }),
})

test.each([
  [approval, /^May refund run with \{"euros":4\}\?\nPays back\nx+…$/],
  [budget, /^A budget is used up \(run: maxSteps of at most 3, used 3\)/],
  [callWith(), /^survey \{"question":"How\?"\} waits for its result\.$/],
  [variables, /^mailer needs values for: B\.$/],
])('$kind is a question for a person, which is not long', (request, words) => {
  expect(questionOf(request)).toMatch(words)
  expect(questionOf(request).length).toBeLessThan(2_100)
})

test('an answer has the schema of its kind', () => {
  expect(answerSchema(approval)).toMatchObject({ required: ['approved'], properties: { arguments: {} } })
  expect(answerSchema(budget)).toMatchObject({ required: ['approved'], properties: { raise: {} } })
  expect(answerSchema(callWith({ type: 'string' }))).toMatchObject({
    properties: { result: { properties: { result: { type: 'string' } } } },
  })
  expect(answerSchema(variables)).toMatchObject({
    properties: { env: { properties: { B: { type: 'string' } }, additionalProperties: false } },
  })
})

test('variables have no form, and neither has what is not flat', () => {
  const nested = { type: 'object', properties: { a: { type: 'object' } } }
  const pattern = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }
  for (const request of [variables, callWith(nested), callWith(pattern), callWith({ type: 'array' })])
    expect(formOf(request)).toBeNull()
})

test('a form becomes the answer of its kind, with what was proposed', () => {
  const proposal = { approved: true, by: 'me', arguments: { euros: 1 } } as const
  const form = formOf(approval, proposal)
  expect(form?.message).toContain('Proposed with an approval: {"arguments":{"euros":1}}')
  expect(form?.answerOf({ decision: 'approve' })).toEqual({ approved: true, arguments: { euros: 1 } })
  expect(form?.answerOf({ decision: 'deny', reason: 'No' })).toEqual({ approved: false, reason: 'No' })
  expect(formOf(approval, { approved: false })?.message).not.toContain('Proposed')
  expect(() => form?.answerOf({ decision: 'maybe' })).toThrow('Expected a decision')
  expect(() => form?.answerOf({})).toThrow('Expected a decision')
  const flat = { type: 'object', properties: { stars: { type: 'integer' } }, required: ['stars'] }
  expect(formOf(callWith(flat))).toMatchObject({ required: ['stars'] })
  expect(formOf(callWith(flat))?.answerOf({ stars: 3 })).toEqual({
    result: { status: 'success', result: { stars: 3 } },
  })
  expect(formOf(callWith())?.answerOf({ result: 'Well' })).toEqual({
    result: { status: 'success', result: 'Well' },
  })
})
