import { expect, test } from 'vitest'
import { createMutex } from './mutex.js'

const soon = () => performance.now() + 10_000

test('waiters are admitted one by one, in order', async () => {
  const mutex = createMutex()
  const entered: number[] = []
  await mutex.acquire(soon())
  const all = [1, 2, 3].map(async (n) => {
    await mutex.acquire(soon())
    entered.push(n)
    await Promise.resolve()
    expect(entered.at(-1)).toBe(n)
    mutex.release()
  })
  expect(entered).toEqual([])
  mutex.release()
  await Promise.all(all)
  expect(entered).toEqual([1, 2, 3])
})

test('a waiter leaves the queue at its deadline', async () => {
  const mutex = createMutex()
  await mutex.acquire(soon())
  await expect(mutex.acquire(performance.now() + 5)).rejects.toMatchObject({ code: 'busy' })
  const next = mutex.acquire(soon())
  mutex.release()
  await next
})

test('timers run between the turns of a long queue', async () => {
  const mutex = createMutex()
  let turns = 0
  const line = Array.from({ length: 100 }, async () => {
    await mutex.acquire(soon())
    turns++
    const busyUntil = performance.now() + 1
    while (performance.now() < busyUntil);
    mutex.release()
  })
  await new Promise((resolve) => setTimeout(resolve, 1))
  expect(turns).toBeLessThan(100)
  await Promise.all(line)
})

test('a waiter that is admitted just before its deadline keeps its turn', async () => {
  const mutex = createMutex()
  await mutex.acquire(soon())
  const late = mutex.acquire(performance.now() + 200)
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      const busyUntil = performance.now() + 300
      while (performance.now() < busyUntil);
      mutex.release()
      resolve()
    })
  })
  await late
  mutex.release()
  await mutex.acquire(soon())
})
