import { afterEach, expect, test, vi } from 'vitest'
import { checkSweeping, sweepUntil } from './sweeping.js'
import type { Sweeping } from './sweeping.js'

const SWEPT = {
  trees: 1,
  threads: 2,
  ended: 3,
  blobs: 0,
  errors: 0,
  plans: 0,
  charges: 0,
  kept: [],
  failed: [],
}

afterEach(() => {
  vi.restoreAllMocks()
})

test('a server sweeps at once and after each pause, also after a failure, until it closes', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const closing = new AbortController()
  const asked: unknown[] = []
  const told: unknown[] = []
  const sweep = async (options: object = {}) => {
    asked.push(options)
    if (asked.length === 2) throw new Error('The store is away.')
    if (asked.length === 3) closing.abort()
    return SWEPT
  }
  await sweepUntil(
    { sweep },
    { inactiveFor: '24h', every: 60_000, onSwept: (swept) => void told.push(swept) },
    closing.signal,
    (pause) => (expect(pause).toBeGreaterThan(50_000), Promise.resolve()),
  )
  expect(asked).toEqual([{ inactiveFor: '24h' }, { inactiveFor: '24h' }, { inactiveFor: '24h' }])
  expect(told).toEqual([SWEPT, SWEPT])
  expect(warned).toHaveBeenCalledExactlyOnceWith('A sweep failed: The store is away.')
})

test.each<readonly [Sweeping, string]>([
  [{}, 'Expected "sweep" with "closedFor", "archivedFor" or "inactiveFor"'],
  [{ closedFor: 'soon' as never }, 'Expected "closedFor" to be milliseconds or a text such as "90d"'],
  [{ closedFor: '90d', every: 1000 }, 'Expected "every" to be from a minute to 24 days, got 1000'],
  [{ closedFor: '90d', every: '60d' }, 'Expected "every" to be from a minute to 24 days, got "60d"'],
])('%j is refused before anything is served', (given, problem) => {
  expect(() => checkSweeping(given)).toThrow(problem)
})
