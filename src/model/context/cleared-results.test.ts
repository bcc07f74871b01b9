import { expect, test } from 'vitest'
import { clearOldResults, clearResult } from './cleared-results.js'
import { BLANK_ROW } from './transcript-row.js'
import type { TranscriptRow } from './transcript-row.js'

const LONG = 'x'.repeat(1000)

function result(position: number, rest: Partial<TranscriptRow> = {}): TranscriptRow {
  const base = { id: `m${position}`, role: 'tool', tool_status: 'success', content: LONG } as const
  return { ...BLANK_ROW, ...base, tool_call_id: `c${position}`, position, ...rest }
}

const weigh = (row: TranscriptRow) => ({ row, tokens: 258, bytes: 1000 })

test('old results become notes with the path to the whole; the newest, errors and short ones stay', () => {
  const rows = [
    result(1),
    result(2, { tool_status: 'error' }),
    result(3, { content: 'short' }),
    result(4),
    result(5),
  ]
  const cleared = clearOldResults(rows.map(weigh), 1)
  expect(cleared?.upTo).toBe(4)
  expect(cleared?.rows.map(({ row }) => (row === rows[row.position! - 1] ? 'whole' : row.content))).toEqual([
    expect.stringMatching(/1000 bytes .* message m1 of the transcript/),
    ...['whole', 'whole', expect.stringContaining('message m4'), 'whole'],
  ])
  expect(cleared?.rows[0]?.tokens).toBeLessThan(60)
  // A call keeps its result.
  expect(cleared?.rows.map(({ row }) => row.tool_call_id)).toEqual(['c1', 'c2', 'c3', 'c4', 'c5'])
})

test('nothing is cleared where nothing is old or long', () => {
  expect(clearOldResults([result(1), result(2)].map(weigh), 2)).toBeNull()
  expect(clearOldResults([result(1, { tool_status: 'error' }), result(2)].map(weigh), 1)).toBeNull()
  expect(clearResult(result(1, { role: 'user' })).content).toBe(LONG)
})

test('what is cleared stays as it is', () => {
  const once = clearResult(result(1))
  expect(clearResult(once)).toBe(once)
})
