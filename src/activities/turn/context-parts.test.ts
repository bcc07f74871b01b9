import { expect, test } from 'vitest'

import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { TranscriptRow } from '../../model/context/transcript-row.js'
import { contextParts, rowSections } from './context-parts.js'

const rowOf = (
  id: string,
  role: TranscriptRow['role'],
  rest: Partial<TranscriptRow> = {},
): TranscriptRow => ({
  ...BLANK_ROW,
  id,
  role,
  ...rest,
})
const calling = JSON.stringify([{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }])

/** A turn that is over, and one in which the model has called a tool and a person has written once more. */
const ROWS = [
  rowOf('1', 'user'),
  rowOf('2', 'assistant'),
  rowOf('4', 'user'),
  rowOf('8', 'assistant', { tool_calls: calling }),
  rowOf('16', 'tool', { tool_call_id: 'c' }),
  rowOf('32', 'user'),
]
const WEIGHTS = new Map(ROWS.map(({ id }) => [id, Number(id)]))

test('the messages of the current turn from outside are the part of the user', () => {
  expect(rowSections(ROWS, { type: 'ai_human', side: 'a' }, WEIGHTS)).toEqual([
    { kind: 'messages', count: 3, tokens: 11 },
    { kind: 'results', count: 1, tokens: 16 },
    { kind: 'user', count: 2, tokens: 36 },
  ])
})

test('the other side of a pair is outside', () => {
  const rows = [rowOf('1', 'assistant', { side: 'b' }), rowOf('2', 'assistant', { side: 'a' })]
  const other = rowOf('4', 'assistant', { side: 'a' })
  expect(rowSections([...rows, other], { type: 'dual_ai', side: 'b' }, WEIGHTS)).toEqual([
    { kind: 'messages', count: 1, tokens: 1 },
    { kind: 'results', count: 0, tokens: 0 },
    { kind: 'user', count: 2, tokens: 6 },
  ])
})

test('the four parts add up to the estimate, and empty sections are left out', () => {
  const sections = [
    { kind: 'system', count: 1, tokens: 64 },
    { kind: 'subagents', count: 1, tokens: 128 },
    { kind: 'tools', count: 0, tokens: 1 },
    ...rowSections(ROWS, { type: 'ai_human', side: 'a' }, WEIGHTS),
  ] as const
  const { tokens, items, estimatedTokens } = contextParts(sections)
  expect(tokens).toEqual({ system: 192, tools: 0, history: 27, user: 36 })
  expect(estimatedTokens).toBe(255)
  expect(items.map(({ kind }) => kind)).toEqual(['system', 'subagents', 'messages', 'results', 'user'])
})
