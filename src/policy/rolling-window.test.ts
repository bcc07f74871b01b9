import { expect, test } from 'vitest'

import { allowanceOf, countUses, createRollingClock } from './rolling-window.js'
import type { RollingTime, SecondCounts } from './rolling-window.js'

const START = 1_000_000

const moment = (at: number, rest: Partial<RollingTime> = {}): RollingTime => ({
  ...{ at, unmoved: [], isSteady: true },
  ...rest,
})

/** What a limit lets through of uses at these times. */
function admitted(times: readonly number[], limit: number): readonly number[] {
  let counts: SecondCounts = []
  return times.filter((at) => {
    const time = moment(at)
    if (allowanceOf(counts, time, limit).kind === 'exhausted') return false
    counts = countUses(counts, time, 1)
    return true
  })
}

test('a limit lets through exactly as many uses, and again as each of them rolls out', () => {
  const burst = Array.from({ length: 101 }, (_, index) => START + index / 1000)
  expect(admitted(burst, 100)).toHaveLength(100)
  const spread = [0, 30, 59.9, 60.9, 61, 61.5, 90.9, 91].map((second) => START + second)
  expect(admitted(spread, 2).map((at) => at - START)).toEqual([0, 30, 61, 91])
})

test('no 60 seconds have more uses than the limit, however they are spread', () => {
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  let at = START
  const times = Array.from({ length: 3000 }, () => (at += random() < 0.1 ? random() * 70 : random()))
  const through = admitted(times, 20)
  expect(through.length).toBeGreaterThan(100)
  for (const from of through)
    expect(through.filter((use) => use >= from && use < from + 60).length).toBeLessThanOrEqual(20)
})

test('a refusal says when enough uses no longer count', () => {
  const counts: SecondCounts = [
    [START, 2],
    [START + 10, 3],
  ]
  expect(allowanceOf(counts, moment(START + 20), 6)).toEqual({ kind: 'allowed', left: 1 })
  expect(allowanceOf(counts, moment(START + 20), 5)).toEqual({ kind: 'exhausted', wait: 41 })
  expect(allowanceOf(counts, moment(START + 20), 3)).toEqual({ kind: 'exhausted', wait: 51 })
})

test('a row of counts stays short', () => {
  let counts: SecondCounts = []
  for (let second = 0; second < 1000; second += 1) counts = countUses(counts, moment(START + second), 1)
  expect(counts.length).toBeLessThan(150)
  expect(allowanceOf(counts, moment(START + 1000), 100)).toEqual({ kind: 'allowed', left: 40 })
})

/** Uses 10 of 10, and says for how long nothing more is let through when the clock moves in between. */
function refusedFor(jump: (passed: number) => number): number {
  const clock = createRollingClock()
  const read = (passed: number): RollingTime => clock.read(START + passed + jump(passed), passed)
  for (let passed = 0; passed <= 100; passed += 1) read(passed)
  const counts = countUses([], read(100), 10)
  for (let passed = 101; passed < 1000; passed += 1)
    if (allowanceOf(counts, read(passed), 10).kind === 'allowed') return passed - 100
  return Infinity
}

test.each([
  ['forward by an hour', (passed: number) => (passed > 120 ? 3600 : 0)],
  ['back by an hour', (passed: number) => (passed > 120 ? -3600 : 0)],
  ['forward by a second each second', (passed: number) => Math.max(0, passed - 120)],
  ['forward and back', (passed: number) => (passed > 120 && passed < 130 ? 3600 : 0)],
])('a clock that jumps %s gives nothing back before its minute is over', (_way, jump) => {
  const refused = refusedFor(jump)
  expect(refused).toBeGreaterThanOrEqual(58)
  expect(refused).toBeLessThanOrEqual(130)
})

test('uses behind a jump roll out as all others', () => {
  const clock = createRollingClock()
  clock.read(START, 0)
  const jumped = clock.read(START + 3600, 1)
  expect(jumped.unmoved).toEqual([START + 1])
  const counts = countUses([], jumped, 10)
  expect(allowanceOf(counts, clock.read(START + 3659, 60), 10).kind).toBe('exhausted')
  expect(allowanceOf(counts, clock.read(START + 3661, 62), 10).kind).toBe('allowed')
})

test('a process that begins behind a jump back counts what was used before it', () => {
  const counts: SecondCounts = [[START, 10]]
  const clock = createRollingClock()
  expect(allowanceOf(counts, clock.read(START - 3600, 0), 10)).toEqual({ kind: 'exhausted', wait: 61 })
  expect(allowanceOf(counts, clock.read(START - 3538, 62), 10).kind).toBe('allowed')
})
