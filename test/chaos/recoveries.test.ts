import { expect, test } from 'vitest'

import { createRecoveries, percentile } from '../../chaos/driver/recoveries.js'

const NOW = 100_000
const clock = () => NOW

test('a recovery is from the kill to the next progress', () => {
  const recoveries = createRecoveries(clock)
  recoveries.cut('worker', ['t'], NOW - 1_000)
  expect(recoveries.open()).toEqual(['t'])
  recoveries.progressed('t')
  recoveries.progressed('t')
  const [done, ...others] = recoveries.done()
  expect(others).toEqual([])
  expect(done).toMatchObject({ threadId: 't', killed: 'worker', cuts: 1 })
  expect(done?.milliseconds).toBe(1_000)
  expect(done?.sinceFirst).toBe(done?.milliseconds)
  expect(recoveries.open()).toEqual([])
})

test('a thread that is hit again counts from its last kill', () => {
  const recoveries = createRecoveries(clock)
  recoveries.cut('worker', ['t'], NOW - 9_000)
  recoveries.cut('temporal', ['t', 'other'], NOW - 2_000)
  recoveries.progressed('t')
  const [done] = recoveries.done()
  expect(done).toMatchObject({ killed: 'temporal', cuts: 2 })
  expect(done?.milliseconds).toBe(2_000)
  expect(done?.sinceFirst).toBe(9_000)
  expect(recoveries.open()).toEqual(['other'])
})

test('progress of a thread that nothing cut is no recovery', () => {
  const recoveries = createRecoveries(clock)
  recoveries.cut('worker', ['t'], NOW)
  recoveries.progressed('other')
  expect(recoveries.done()).toEqual([])
})

test('a percentile is one of the values', () => {
  expect(percentile([3, 1, 2], 0.5)).toBe(2)
  expect(percentile([3, 1, 2], 0.99)).toBe(3)
  expect(percentile([], 0.99)).toBe(0)
})
