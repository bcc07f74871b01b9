import { expect, test } from 'vitest'
import type { AgUiEvent, AgUiTerminal, AgUiUsage } from './events.js'
import { metadataOf, reasoningIdOf } from './messages.js'
import { beginWriting, closeWriting, finishWriting, inSnapshot, write } from './writing.js'
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
