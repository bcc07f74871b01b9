import { expect, test } from 'vitest'
import {
  insertBoundary,
  lastBoundary,
  listBoundaries,
} from '../../../src/store/messages/context-boundaries.js'
import type { NewBoundary } from '../../../src/store/messages/context-boundaries.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

function boundary(position: number, clipped: number | null = null): NewBoundary {
  return {
    threadId: 't',
    side: 'a',
    position,
    kind: 'window',
    operation: 'model_1_1',
    detail: { opening: 1, clipped, dropped: position - 2, cuts: 0 },
    tokensBefore: 900,
    tokensAfter: 400,
    createdAt: NOW,
  }
}

export function boundaryConformance(withStore: WithStore): void {
  test(
    'the last boundary of a side holds',
    withStore(async (store) => {
      await makeThread(store, 't')
      expect(await store.read((db) => lastBoundary(db, 't', 'a'))).toBeNull()
      await store.write(async (tx) => {
        await insertBoundary(tx, boundary(10))
        await insertBoundary(tx, { ...boundary(30), side: 'b' })
        expect(await insertBoundary(tx, boundary(20))).toBe(true)
      })
      expect(await store.read((db) => lastBoundary(db, 't', 'a'))).toEqual({
        position: 20,
        kind: 'window',
        operation: 'model_1_1',
        detail: { opening: 1, clipped: null, dropped: 18, cuts: 0 },
      })
    }),
  )

  test(
    'the boundaries of both sides are listed, the newest first',
    withStore(async (store) => {
      await makeThread(store, 't')
      await store.write(async (tx) => {
        await insertBoundary(tx, boundary(10))
        await insertBoundary(tx, { ...boundary(30), side: 'b' })
        await insertBoundary(tx, boundary(20))
      })
      const listed = await store.read((db) => listBoundaries(db, 't', 2))
      expect(listed).toMatchObject([
        { side: 'a', position: 20, tokensBefore: 900, tokensAfter: 400, createdAt: NOW },
        { side: 'b', position: 30, detail: { dropped: 28 } },
      ])
    }),
  )

  test(
    'T12 a boundary never goes back',
    withStore(async (store) => {
      await makeThread(store, 't')
      const taken: boolean[] = []
      await store.write(async (tx) => {
        for (const one of [boundary(20), boundary(10), boundary(20), boundary(20, 25), boundary(20, 25)])
          taken.push(await insertBoundary(tx, one))
      })
      expect(taken).toEqual([true, false, false, true, false])
    }),
  )
}
