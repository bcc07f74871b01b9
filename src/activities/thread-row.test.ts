import { expect, test } from 'vitest'

import { movesActivity } from './thread-row.js'

const SECOND = 1_000_000
const MINUTE = 60 * SECOND
const LAST = 1_763_767_000 * SECOND
const thread = { agent: 'clerk', parent_thread_id: null, depth: 0, last_activity_at: LAST }

test.each([
  ['a minute after it was moved', LAST + MINUTE, true],
  ['just before', LAST + MINUTE - 1, false],
  ['by a clock that is behind', LAST - SECOND, false],
])('a working thread moves its last activity %s: %s %s', (_when, now, moves) => {
  expect(movesActivity(thread, now)).toBe(moves)
})
