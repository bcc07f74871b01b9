import { expect, test } from 'vitest'

import { openTranscript } from '../fold/transcript.js'
import type { Message } from '../protocol/message.js'
import type { Outgoing } from './outbox.js'
import { showMessages } from './shown-messages.js'

const row = (id: string, position: number | null, more: Partial<Message> = {}): Message => ({
  ...({
    id,
    role: 'user',
    content: id,
    position,
    status: 'completed',
    attachments: [],
  } as unknown as Message),
  ...{ reasoning_content: null, tool_calls: null, tool_call_id: null, tool_status: null, ...more },
})

const sent = (content: string, more: Partial<Outgoing> = {}): Outgoing => ({
  ...{ key: `key of ${content}`, threadId: 't', message: { content }, behind: 0, state: 'sending', ...more },
})

const shown = (rows: readonly Message[], outgoing: readonly Outgoing[]) =>
  showMessages({ transcript: openTranscript(rows, false), runs: [], outgoing }).map(
    ({ id, text, state }) => `${id} ${text} ${state}`,
  )

test('a message that was sent here is shown once, before and after its row is there', () => {
  const first = row('first', 0)
  expect(shown([first], [sent('Hello')])).toEqual(['first first stored', 'key of Hello Hello sending'])
  const accepted = sent('Hello', { state: 'accepted', messageId: 'm' })
  expect(shown([first], [accepted])).toEqual(['first first stored', 'm Hello queued'])
  expect(shown([first, row('m', 1, { content: 'Hello' })], [accepted])).toEqual([
    ...['first first stored', 'm Hello stored'],
  ])
})

test('without an answer of the server its row is known by its text, behind what was known when it was written', () => {
  const twice = [row('a', 0, { content: 'Yes.' }), row('b', 1, { content: 'Yes.' })]
  expect(shown(twice, [sent('Yes.')])).toEqual(['a Yes. stored', 'b Yes. stored'])
  expect(shown(twice.slice(0, 1), [sent('Yes.')])).toEqual(['a Yes. stored', 'key of Yes. Yes. sending'])
  // Two of the same text are two rows.
  expect(shown(twice, [sent('Yes.'), sent('Yes.', { key: 'second' })])).toHaveLength(3)
})

test('a refused message stays, and a result stands with its call', () => {
  expect(shown([], [sent('No.', { state: 'refused', problem: 'Closed.' })])).toEqual([
    'key of No. No. refused',
  ])
  const calls = JSON.stringify([{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }])
  const answer = row('answer', 0, { role: 'assistant', tool_calls: calls })
  const result = row('result', 1, {
    role: 'tool',
    tool_call_id: 'c',
    tool_status: 'success',
    content: 'Found.',
  })
  const [message, ...others] = showMessages({
    ...{ transcript: openTranscript([answer, result], false), runs: [], outgoing: [] },
  })
  expect(others).toEqual([])
  expect(message?.calls).toMatchObject([{ id: 'c', name: 'look', outcome: 'succeeded', result: 'Found.' }])
})
