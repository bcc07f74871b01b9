import { expect, test } from 'vitest'
import { frameReport } from './frame-report.js'
import type { NestedCall } from './frame-report.js'

const ALL = { includeTextResponse: true, includeToolCalls: true, includeErrors: true }

function call(name: string, content: string, succeeded = true): NestedCall {
  return { name, args: '{}', content, succeeded, attachments: [] }
}

const GOOD = call('look', 'seen')
const BAD = call('touch', 'Error: It is hot.', false)

test.each<readonly [string, Partial<typeof ALL>, string]>([
  ['words and calls', {}, 'Fine.\n\nTool calls and their results:\n\nlook({}):\nseen'],
  ['its words alone', { includeToolCalls: false }, 'Fine.'],
  ['its calls alone', { includeTextResponse: false }, 'Tool calls and their results:\n\nlook({}):\nseen'],
  [
    'nothing',
    { includeTextResponse: false, includeToolCalls: false },
    'The call succeeded. There is nothing to report.',
  ],
])('a step shows %s, as it is listed', (_what, shown, content) => {
  const report = frameReport(
    { ...ALL, ...shown },
    { text: 'Fine.', isCut: false, attachments: [], calls: [GOOD] },
  )
  expect(report).toMatchObject({ outcome: 'succeeded', content })
})

test('P2 a step with files alone has something to report', () => {
  const content = 'The call succeeded. Its result is in the attached files.'
  const step = { text: '', isCut: false, attachments: [], calls: [] }
  expect(frameReport(ALL, { ...step, hasNewFiles: true })).toMatchObject({ content })
  expect(frameReport(ALL, step).content).toContain('nothing to report')
})

test('one failed call makes an error without the words', () => {
  const report = frameReport(ALL, { text: 'Fine.', isCut: false, attachments: [], calls: [GOOD, BAD] })
  expect(report).toMatchObject({ outcome: 'failed', errorCode: 'nested_tool_failed' })
  expect(report.content).toBe(
    'Error: 1 of 2 tool calls failed.\ntouch: It is hot.\nOther tools that were called: look.',
  )
})

test('the words of errors may be left out', () => {
  const report = frameReport(
    { ...ALL, includeErrors: false },
    { text: '', isCut: false, attachments: [], calls: [BAD] },
  )
  expect(report.content).toBe('Error: 1 of 1 tool calls failed.\ntouch')
})

test('a truncated text says so', () => {
  const report = frameReport(ALL, { text: 'Fine, but ', isCut: true, attachments: [], calls: [] })
  expect(report.content).toBe('Fine, but\n\n(The answer ends here, because it reached its limit of length.)')
})
