import { describe, expect, test } from 'vitest'
import { transcriptRow } from '../../../test/support/transcript-row.js'
import { cutIndex, fillOf, sizeOf } from './cut-window.js'
import type { WeighedRow } from './cut-window.js'
import type { Perspective } from './transcript-row.js'

const perspective: Perspective = { type: 'ai_human', side: 'a' }

/** A letter a row, with its tokens: u(ser), t(ext), c(all), r(esult of the call before). */
function rowsOf(outline: string): readonly WeighedRow[] {
  let call = 0
  return outline.split(' ').map((word, index) => {
    const tokens = Number(word.slice(1) || 10)
    if (word.startsWith('c')) call += 1
    const id = `call-${call}`
    const tool_calls = JSON.stringify([{ id, type: 'function', function: { name: 'look', arguments: '{}' } }])
    const row = {
      u: transcriptRow({ content: 'Go on.' }),
      t: transcriptRow({ role: 'assistant', content: 'Well.', side: 'a' }),
      c: transcriptRow({ role: 'assistant', tool_calls, side: 'a' }),
      r: transcriptRow({ role: 'tool', tool_call_id: id, side: 'a' }),
    }[word[0] ?? '']
    if (row === undefined) throw new Error(`Expected u, t, c or r, got ${word}.`)
    return { row: { ...row, position: index + 1 }, tokens, bytes: tokens * 4 }
  })
}

function staysOf(outline: string, tokens: number): string {
  const rows = rowsOf(outline)
  const most = { tokens, rows: 500, bytes: 1_000_000 }
  return outline.split(' ').slice(cutIndex(rows, { most, perspective })).join(' ')
}

describe('a cut', () => {
  test('is at the oldest turn that fits', () => {
    expect(staysOf('u t u t u t u t', 50)).toBe('u t u t')
  })

  test('is never between a call and its result', () => {
    expect(staysOf('u c r c r c u r t', 35)).toBe('t')
    expect(staysOf('u c r c r c u r t', 45)).toBe('c u r t')
    expect(staysOf('u t c r', 15)).toBe('c r')
  })

  test('keeps steps that a turn alone would leave out', () => {
    expect(staysOf('u c r c r c r c r u', 60)).toBe('c r c r u')
  })

  test('leaves one step however large it is', () => {
    expect(staysOf('u c r c r5000', 100)).toBe('c r5000')
    expect(staysOf('u5000', 100)).toBe('u5000')
  })

  test('takes a call that nobody answered for none', () => {
    expect(staysOf('u c u t', 25)).toBe('u t')
  })

  test('counts rows and bytes as it does tokens', () => {
    const rows = rowsOf('u t u t u t u t')
    const most = { tokens: 1000, rows: 1000, bytes: 100_000 }
    expect(cutIndex(rows, { most: { ...most, rows: 4 }, perspective })).toBe(4)
    expect(cutIndex(rows, { most: { ...most, bytes: 80 }, perspective })).toBe(6)
    expect(fillOf(sizeOf(rows), { tokens: 160, rows: 4, bytes: 640 })).toBe(2)
  })
})

test('with two agents the words of the other begin a turn', () => {
  const rows = rowsOf('u t u t').map((weighed, index) => ({
    ...weighed,
    row: { ...weighed.row, side: index % 2 === 0 ? ('b' as const) : ('a' as const) },
  }))
  const most = { tokens: 35, rows: 500, bytes: 1_000_000 }
  expect(cutIndex(rows, { most, perspective: { type: 'dual_ai', side: 'a' } })).toBe(2)
  expect(cutIndex(rows, { most, perspective: { type: 'dual_ai', side: 'b' } })).toBe(1)
})
