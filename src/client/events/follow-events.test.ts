import { expect, test } from 'vitest'
import { cursorOf, positionAfter } from './follow-events.js'
import type { EventPosition } from './follow-events.js'

const streamed = { messageId: 'msg:ä/ 1', attempt: 2, text: 40, reasoning: 7 }

test.each<EventPosition>([
  { sequence: 0, streamed: null },
  { sequence: 12, streamed: null },
  { sequence: 12, streamed },
])('a cursor leads back to where it was made', (position) => {
  const cursor = cursorOf(position)
  expect(cursor).toMatch(/^[!-~]+$/)
  expect(positionAfter(cursor)).toEqual(position)
})

test('a sequence is a cursor, as number and as text', () => {
  expect(positionAfter(12)).toEqual({ sequence: 12, streamed: null })
  expect(positionAfter('12')).toEqual({ sequence: 12, streamed: null })
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
  '12:m:1:2:3:4',
  ' 12',
  -1,
  0.5,
  NaN,
])('what is no cursor is refused: %j', (after) => {
  expect(() => positionAfter(after)).toThrow('Expected "after" to be an event\'s cursor')
})
