import { expect, test } from 'vitest'

import type { ThreadEvent } from '../protocol/events.js'
import type { Message } from '../protocol/message.js'
import { applyToTranscript, EMPTY_TRANSCRIPT, openTranscript, takeOlder } from './transcript.js'

function row(position: number | null, patch: Partial<Message> = {}): Message {
  return {
    ...{ id: `m${position}`, role: 'assistant', content: `text ${position}`, name: null, tool_calls: null },
    ...{ tool_call_id: null, created_at: position ?? 0, parent_id: null, depth: 0, silent: false },
    ...{ metadata: null, status: 'completed', tool_status: null, attachments: [], reasoning_content: null },
    ...{ finish_reason: 'stop', prompt: null, subagent_id: null, position },
    ...patch,
  }
}

const rows = (from: number, to: number): readonly Message[] =>
  Array.from({ length: to - from + 1 }, (_, index) => row(from + index))

/** Events of these tests have what the reducer reads. */
const event = (fields: object): ThreadEvent =>
  ({ timestamp: '2026-01-01', ...fields }) as unknown as ThreadEvent
const created = (message: Message): ThreadEvent =>
  event({ type: 'message.created', messageId: message.id, payload: { role: message.role, message } })
const delta = (text: string, offset: number, attempt = 1): ThreadEvent =>
  event({ type: 'model.delta', messageId: 'm9', payload: { attempt, offset, text } })

const draftOf = (...events: readonly ThreadEvent[]): string | undefined =>
  events.reduce(applyToTranscript, EMPTY_TRANSCRIPT).drafts[0]?.text

test('C1 a message that comes twice is there once, at its position', () => {
  const opened = openTranscript(rows(1, 3), false)
  const after = [created(row(5)), created(row(4)), created(row(5)), created(row(2))].reduce(
    applyToTranscript,
    opened,
  )
  expect(after.messages.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5])
})

test('C2 the stored message replaces its draft', () => {
  const after = [delta('Hello', 0), created(row(9, { id: 'm9', content: 'Hello you' }))].reduce(
    applyToTranscript,
    EMPTY_TRANSCRIPT,
  )
  expect([after.drafts, after.messages.map(({ content }) => content)]).toEqual([[], ['Hello you']])
  // A piece that comes late, after a reconnection, begins no second draft.
  expect(applyToTranscript(after, delta('Hello', 0))).toBe(after)
})

test('C3 a piece of text that comes twice is shown once, and another attempt begins anew', () => {
  expect(draftOf(delta('one ', 0), delta('two ', 4), delta('two ', 4))).toBe('one two ')
  expect(draftOf(delta('one ', 0), delta('two ', 4), delta('one two three', 0))).toBe('one two three')
  expect(draftOf(delta('one ', 0), delta('uno ', 0, 2), delta('late', 4))).toBe('uno ')
})

test('C4 an older message than the window makes no gap in it', () => {
  const opened = openTranscript(rows(50, 60), true)
  expect(applyToTranscript(opened, created(row(7)))).toBe(opened)
})

test('a window is bounded in both directions', () => {
  const long = openTranscript(rows(1000, 1299), true)
  const newer = applyToTranscript(long, created(row(1300)))
  expect([newer.messages.length, newer.messages[0]?.position]).toEqual([300, 1001])
  const older = takeOlder(long, rows(940, 999), true)
  expect([older.messages.length, older.messages[0]?.position, older.hasNewer]).toEqual([300, 940, true])
  // What comes while the person reads older ones is not among these.
  expect(applyToTranscript(older, created(row(1300)))).toBe(older)
})

test('nested, silent and removed messages are no part of a conversation', () => {
  for (const patch of [{ depth: 1 }, { silent: true }, { status: 'removed' as const }])
    expect(applyToTranscript(EMPTY_TRANSCRIPT, created(row(1, patch)))).toBe(EMPTY_TRANSCRIPT)
  const opened = openTranscript(rows(1, 2), false)
  const gone = applyToTranscript(opened, event({ type: 'message.deleted', messageId: 'm1', payload: {} }))
  expect(gone.messages.map(({ id }) => id)).toEqual(['m2'])
})

test('messages that wait come last, in the order in which they were sent', () => {
  const waiting = [row(null, { id: 'b', created_at: 8 }), row(null, { id: 'a', created_at: 7 })]
  expect(openTranscript([...waiting, row(3)], false).messages.map(({ id }) => id)).toEqual(['m3', 'a', 'b'])
})

test('C3 arguments that a model writes are in the draft, by their calls, until the message is stored', () => {
  const args = (toolCallId: string, text: string, offset: number, attempt = 1): ThreadEvent =>
    event({
      ...{ type: 'tool.args', messageId: 'm9', toolCallId },
      payload: { attempt, offset, text, name: `tool of ${toolCallId}` },
    })
  const begun = [
    delta('I do.', 0),
    args('c1', '{"a"', 0),
    args('c1', '"a":1}', 1),
    args('c2', '{', 0),
  ].reduce(applyToTranscript, EMPTY_TRANSCRIPT)
  expect(begun.drafts).toMatchObject([
    {
      ...{ messageId: 'm9', text: 'I do.' },
      calls: [
        { id: 'c1', name: 'tool of c1', arguments: '{"a":1}' },
        { id: 'c2', arguments: '{' },
      ],
    },
  ])
  expect(applyToTranscript(begun, args('c1', '{"a"', 0))).toBe(begun)
  expect(applyToTranscript(begun, args('c1', '[', 0, 2)).drafts).toMatchObject([
    { attempt: 2, text: '', calls: [{ id: 'c1', arguments: '[' }] },
  ])
  expect(applyToTranscript(begun, created(row(9, { id: 'm9' }))).drafts).toEqual([])
})
