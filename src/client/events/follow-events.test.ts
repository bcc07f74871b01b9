import { expect, test } from 'vitest'
import type { StoredDelta } from '../../store/messages/deltas.js'
import type { EventPage } from './event-page.js'
import { createEventStream, cursorOf, parsePosition } from './follow-events.js'
import type { EventPosition } from './follow-events.js'

const streamed = { messageId: 'msg:ä/ 1', attempt: 2, text: 40, reasoning: 7, args: 0 }

test.each<EventPosition>([
  { sequence: 0, streamed: null },
  { sequence: 12, streamed: null },
  { sequence: 12, streamed },
  { sequence: 12, streamed: { ...streamed, args: 5 } },
])('a cursor leads back to where it was made', (position) => {
  const cursor = cursorOf(position)
  expect(cursor).toMatch(/^[!-~]+$/)
  expect(parsePosition(cursor)).toEqual(position)
})

test('a sequence is a cursor, as number and as text', () => {
  expect(parsePosition(12)).toEqual({ sequence: 12, streamed: null })
  expect(parsePosition('12')).toEqual({ sequence: 12, streamed: null })
})

test.each([
  '',
  'x',
  '-1',
  '1.5',
  '12:',
  '12:m:1:2',
  '12:m:a:2:3',
  '12:%E0:1:2:3',
  '12:m:1:2:3:4:5',
  '12:m:1:2:3:x',
  ' 12',
  -1,
  0.5,
  NaN,
])('what is no cursor is refused: %j', (after) => {
  expect(() => parsePosition(after)).toThrow('Expected "after" to be an event\'s cursor')
})

function row(id: number, offset: number, text: string): StoredDelta {
  return { id, threadId: 't', messageId: 'm', attempt: 1, kind: 'text', offset, text }
}

function pageOf(...deltas: readonly StoredDelta[]): EventPage {
  const place = { threadId: 't', sessionId: 't', runtimeId: 's' }
  return { place, events: [], deltas, useful: new Map(), more: false, closed: false }
}

const begin = { sequence: 3, streamed: null }

test('text behind a gap waits until the gap is filled', () => {
  let seconds = 0
  // A reader that reads once in a second may begin anew each time.
  const stream = createEventStream(begin, () => (seconds += 1) * 1000)
  const shown: string[] = []
  const take = (page: EventPage): void => {
    for (const { type, payload } of stream.take(page))
      if (type === 'model.delta') shown.push(`${payload.offset} ${payload.text}`)
  }
  take(pageOf(row(1, 0, 'one ')))
  expect(stream.position.delta).toBe(1)
  // A killed database lost the row of "two ".
  take(pageOf(row(3, 8, 'three ')))
  expect(shown).toEqual(['0 one '])
  expect(stream.position.delta).toBe(0)
  take(pageOf(row(1, 0, 'one '), row(3, 8, 'three '), row(4, 14, 'four ')))
  expect(shown).toEqual(['0 one '])
  // It is written again as a whole.
  take(pageOf(row(1, 0, 'one '), row(3, 8, 'three '), row(5, 0, 'one two three four ')))
  expect(shown).toEqual(['0 one ', '4 two three four '])
  expect(stream.position).toEqual({ sequence: 3, delta: 0 })
  take(pageOf(row(1, 0, 'one '), row(3, 8, 'three '), row(5, 0, 'one two three four '), row(6, 19, 'five')))
  expect(shown.at(-1)).toBe('19 five')
  expect(stream.position.delta).toBe(6)
})

test('what was written twice is shown once', () => {
  const stream = createEventStream(begin)
  const events = [...stream.take(pageOf(row(1, 0, 'one '), row(2, 0, 'one two '), row(3, 4, 'two three')))]
  const texts = events.map((event) => event.type === 'model.delta' && event.payload.text)
  expect(texts.join('')).toBe('one two three')
})

test('all of a text is read again once a second at most', () => {
  let now = 0
  const stream = createEventStream(begin, () => now)
  const read = (...deltas: readonly StoredDelta[]): void => void [...stream.take(pageOf(...deltas))]
  read(row(1, 0, 'one '))
  read(row(3, 8, 'three '))
  expect([stream.gap, stream.position.delta]).toEqual(['again', 0])
  read(row(1, 0, 'one '), row(3, 8, 'three '))
  for (let id = 4; id < 100; id += 1) {
    now += 10
    read(row(id, id * 10, 'more text '))
    expect([stream.gap, stream.position.delta]).toEqual(['waits', id])
  }
  now = 1000
  // No new row: the text was written again under an id that was read.
  read()
  expect([stream.gap, stream.position.delta]).toEqual(['again', 0])
  read(row(2, 0, 'one two three '), row(3, 8, 'three '))
  expect([stream.gap, stream.position.delta]).toEqual(['none', 3])
})

test('arguments of two calls continue in the middle, behind what their cursor has seen', () => {
  const args = (id: number, offset: number, call: StoredDelta['call'], text: string): StoredDelta => ({
    ...row(id, offset, text),
    ...{ kind: 'args', ...(call !== undefined && { call }) },
  })
  const one = { id: 'c1', name: 'refund', offset: 0 }
  const two = { id: 'c2', name: 'look', offset: 0 }
  const page = pageOf(
    row(1, 0, 'I do. '),
    args(2, 0, one, '{"euros"'),
    args(3, 8, { ...one, offset: 8 }, ':40}'),
    args(4, 12, two, '{"order"'),
    args(5, 20, { ...two, offset: 8 }, ':1}'),
  )
  const whole = [...createEventStream(begin).take(page)]
  expect(whole).toMatchObject([
    { type: 'model.delta', cursor: '3:m:1:6:0' },
    {
      ...{ type: 'tool.args', messageId: 'm', toolCallId: 'c1', cursor: '3:m:1:6:0:12' },
      payload: { attempt: 1, offset: 0, name: 'refund', text: '{"euros":40}' },
    },
    { toolCallId: 'c2', cursor: '3:m:1:6:0:23', payload: { offset: 0, name: 'look', text: '{"order":1}' } },
  ])
  const rest = [...createEventStream(parsePosition('3:m:1:6:0:15')).take(page)]
  expect(rest).toMatchObject([{ toolCallId: 'c2', payload: { offset: 3, text: 'rder":1}' } }])
})
