import { expect, test } from 'vitest'
import type { AgUiEvent, AgUiTerminal, AgUiUsage } from './events.js'
import { metadataOf, reasoningIdOf } from './messages.js'
import { beginWriting, closeWriting, finishWriting, inSnapshot, write, writeArguments } from './writing.js'
import type { Writing } from './writing.js'

test('reasoning closes before text opens, and the row says the rest', () => {
  const begun: Writing = beginWriting('m', 1, 'assistant')
  const [thought] = write(begun, 'reasoning', 'Hm')
  const [said, events] = write(thought, 'text', 'Hel')
  expect(events.map(({ type }: AgUiEvent) => type)).toEqual([
    ...['REASONING_MESSAGE_END', 'REASONING_END', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'],
  ])
  expect(closeWriting(said)).toEqual([{ type: 'TEXT_MESSAGE_END', messageId: 'm' }])
  expect(inSnapshot(said, false)).toEqual([{ id: reasoningIdOf('m'), role: 'reasoning', content: '' }])
  const row = {
    id: 'm',
    role: 'assistant',
    attachments: [],
    tool_calls: null,
    reasoning_content: 'Hm',
  } as const
  expect(finishWriting(said, { ...row, content: 'Hello' } as never)).toMatchObject({
    ...{ fits: true, events: [{ type: 'TEXT_MESSAGE_CONTENT', delta: 'lo' }, { type: 'TEXT_MESSAGE_END' }] },
  })
  expect(finishWriting(said, { ...row, content: 'Other' } as never).fits).toBe(false)
})

test('only what failed or has files says more than its words', () => {
  expect([metadataOf([], 'success'), metadataOf([], 'error')]).toEqual([
    {},
    { metadata: { status: 'error' } },
  ])
  const used: readonly AgUiUsage[] = []
  const end: AgUiTerminal = { type: 'RUN_ERROR', code: 'x', message: 'y', usage: used }
  expect(end.usage).toBe(used)
})

test('arguments close the text, and the row says the rest of them, or does not fit', () => {
  const [said] = write(beginWriting('m', 1, 'assistant'), 'text', 'I do.')
  const [first, begun] = writeArguments(said, { id: 'c1', name: 'refund', text: '{"eu' })
  const [second, more] = writeArguments(first, { id: 'c2', name: 'look', text: '{' })
  expect([...begun, ...more].map(({ type }) => type)).toEqual([
    ...['TEXT_MESSAGE_END', 'TOOL_CALL_START', 'TOOL_CALL_ARGS'],
    ...['TOOL_CALL_START', 'TOOL_CALL_ARGS'],
  ])
  const calls = (...args: readonly string[]) =>
    JSON.stringify(
      args.map((given, index) => ({
        ...{ id: `c${index + 1}`, type: 'function' },
        function: { name: index === 0 ? 'refund' : 'look', arguments: given },
      })),
    )
  const row = { id: 'm', role: 'assistant', attachments: [], reasoning_content: null, content: 'I do.' }
  const finished = (tool_calls: string) => finishWriting(second, { ...row, tool_calls } as never)
  expect(finished(calls('{"euros":1}', '{}', '{}'))).toMatchObject({
    fits: true,
    events: [
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: 'ros":1}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c1' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c2', delta: '}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c2' },
      { type: 'TOOL_CALL_START', toolCallId: 'c3', parentMessageId: 'm' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c3', delta: '{}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c3' },
    ],
  })
  // Hooks have changed the arguments, or dropped a call.
  expect(finished(calls('{"a":1}', '{}')).fits).toBe(false)
  expect(finished(calls('{"euros":1}')).fits).toBe(false)
  // Reasoning stands above the calls.
  expect(
    finishWriting(second, { ...row, reasoning_content: 'Hm', tool_calls: calls('{"eu', '{') } as never).fits,
  ).toBe(false)
  expect(closeWriting(second)).toEqual([
    { type: 'TOOL_CALL_END', toolCallId: 'c1' },
    { type: 'TOOL_CALL_END', toolCallId: 'c2' },
  ])
  expect(inSnapshot(second, true)).toMatchObject([
    { id: 'm', content: 'I do.', toolCalls: [{ id: 'c1' }, { id: 'c2' }] },
  ])
})
