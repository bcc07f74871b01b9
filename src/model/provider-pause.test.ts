import { expect, test } from 'vitest'

import { ProviderPause, withJitter } from './provider-pause.js'

/** A pause whose time passes only when a test says so, or by the sleep of its single caller. */
function pauseWithClock(random = () => 0.5) {
  let time = 1000
  const sleepers: { readonly until: number; readonly wake: () => void }[] = []
  const pause = new ProviderPause({
    now: () => time,
    random,
    sleep: (milliseconds, signal) =>
      new Promise<void>((resolve, reject) => {
        sleepers.push({ until: time + milliseconds, wake: resolve })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  const left: { readonly key: string; readonly at: number }[] = []
  const go = (key: string, { patience = Infinity, signal = new AbortController().signal } = {}) =>
    pause.pass({ signal, patience }).then(() => void left.push({ key, at: time }))
  /** Wakes the sleepers in the order of their times, up to that time. */
  const passTo = async (end: number): Promise<void> => {
    for (;;) {
      const next = sleepers.toSorted((one, other) => one.until - other.until)[0]
      if (next === undefined || next.until > end) break
      sleepers.splice(sleepers.indexOf(next), 1)
      time = Math.max(time, next.until)
      next.wake()
      await new Promise(setImmediate)
    }
    time = Math.max(time, end)
  }
  return { pause, go, left, passTo, now: () => time }
}

test('without a pause a request goes at once', async () => {
  const { go, left } = pauseWithClock()
  await go('a')
  expect(left).toEqual([{ key: 'a', at: 1000 }])
})

test('who waits for the end of a pause goes one by one', async () => {
  const { pause, go, left, passTo } = pauseWithClock()
  pause.begin(2000)
  const all = Array.from({ length: 16 }, (_, index) => go(`thread ${index}`))
  await passTo(2999)
  expect(left).toEqual([])
  await passTo(5000)
  await Promise.all(all)
  const times = left.map(({ at }) => at)
  expect(new Set(times).size).toBe(16)
  expect([Math.min(...times), Math.max(...times)]).toEqual([3050, 3800])
})

test('a pause that is made longer holds those who sleep', async () => {
  const { pause, go, left, passTo } = pauseWithClock()
  pause.begin(2000)
  const waiting = go('a')
  await passTo(2000)
  pause.begin(4000)
  await passTo(5900)
  expect(left).toEqual([])
  await passTo(7000)
  await waiting
  expect(left[0]?.at).toBeGreaterThan(6000)
})

test('P3 a provider is asked again within the hour, whatever pause it asked for', async () => {
  for (const asked of [Infinity, 60 * 365 * 24 * 3_600_000]) {
    const { pause, go, left, passTo } = pauseWithClock()
    pause.begin(asked)
    await expect(go('a')).rejects.toMatchObject({ kind: 'paused', retryAfter: 3_600_050 })
    await passTo(1000 + 3_600_000)
    await go('b')
    expect(left).toEqual([{ key: 'b', at: 3_601_000 }])
  }
})

test('a short pause does not cut a longer one', async () => {
  const { pause, go, passTo } = pauseWithClock()
  pause.begin(60_000)
  pause.begin(1000)
  await passTo(3000)
  await expect(go('a')).rejects.toMatchObject({ kind: 'paused', retryable: true, retryAfter: 58_050 })
})

test('who cannot wait here is told its own time', async () => {
  const { pause, go } = pauseWithClock()
  pause.begin(30_000)
  await expect(go('a')).rejects.toMatchObject({ retryAfter: 30_050 })
  await expect(go('b')).rejects.toMatchObject({ retryAfter: 30_100 })
})

test('no one waits here beyond its own patience', async () => {
  const { pause, go } = pauseWithClock()
  pause.begin(5000)
  await expect(go('a', { patience: 3000 })).rejects.toMatchObject({ kind: 'paused', retryAfter: 5050 })
})

test('a stop ends the wait for a pause', async () => {
  const { pause, go } = pauseWithClock()
  const controller = new AbortController()
  pause.begin(5000)
  const waiting = go('a', { signal: controller.signal })
  controller.abort(new Error('stop'))
  await expect(waiting).rejects.toThrow('stop')
})

test('the random part is a quarter, and half a minute at most', () => {
  expect(withJitter(1000, () => 0)).toBe(1000)
  expect(withJitter(1000, () => 0.999)).toBeCloseTo(1249.75)
  expect(withJitter(3_600_000, () => 0.5)).toBe(3_615_000)
})
