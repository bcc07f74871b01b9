import { expect, test } from 'vitest'

import { continuationIn, isPending, markContinued, toResult } from './tool-values.js'

test('a call of a source that goes on later passes what is made for answers of tools', () => {
  const answer = { status: 'pending', after: 100, resume: { part: 1 } }
  const marked = toResult(markContinued(answer, 'demo'))
  expect(isPending(marked)).toBe(true)
  expect(continuationIn(JSON.parse(JSON.stringify(marked)))).toEqual({ ...answer, source: 'demo' })
})

test.each([
  ['an order', { status: 'pending', total: 3 }],
  ['a wait of a tool', { status: 'pending', form: {} }],
  ['a result', { status: 'success', result: { resume: {} } }],
  ['a text', 'pending'],
])('%s goes on with nothing', (_what, answer) => {
  expect(continuationIn(toResult(markContinued(answer, 'demo')))).toBeNull()
})

test('a value of a tool that looks like the wait of a source is a value', () => {
  const value = { status: 'pending', resume: { at: 3 } }
  expect(toResult(value)).toEqual({ status: 'success', result: value })
})
