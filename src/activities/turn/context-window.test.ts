import { expect, test } from 'vitest'

import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { CallModelInput } from '../../protocol/activities.js'
import type { TranscriptMessage } from '../../store/messages/transcript.js'
import type { Store } from '../../store/store.js'
import { cutContext } from './context-window.js'

/** Counts the rows before a cut. */
const store = { read: async () => 7 } as unknown as Store

const INPUT = { threadId: 't', run: 5 } as CallModelInput

/** Four turns of an earlier run: a question and its answer, 100 tokens each. */
const ROWS = [11, 12, 13, 14, 15, 16, 17, 18].map((position): TranscriptMessage => {
  const role = position % 2 === 1 ? 'user' : 'assistant'
  return { ...BLANK_ROW, id: `m${position}`, role, position, run: 1, side: role === 'user' ? 'b' : 'a' }
})

function cut(budget: number, halvings = 0) {
  return cutContext(store, {
    input: INPUT,
    window: {
      budgets: 'unread',
      boundary: null,
      opening: null,
      rows: ROWS,
      bytes: new Map(),
      overflows: false,
      slides: null,
    },
    perspective: { type: 'ai_human', side: 'a' },
    ...{ budget, halvings, tokensOf: () => 100, compaction: null },
  })
}

test('T12 a window that is not full keeps its beginning', async () => {
  expect(await cut(800)).toEqual({ opening: null, rows: ROWS, cut: null })
})

test('T12 a full window is cut to half, at the beginning of a turn', async () => {
  const { rows, cut: made } = await cut(799)
  expect(rows).toEqual(ROWS.slice(6))
  expect(made).toEqual({ position: 17, kind: 'cut', detail: { opening: null, clipped: null, dropped: 7 } })
})

test('each refusal of the provider halves a window that seemed to fit', async () => {
  expect((await cut(10_000, 1)).cut?.position).toBe(15)
  expect((await cut(10_000, 2)).cut?.position).toBe(17)
})
