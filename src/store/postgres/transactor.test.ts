import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createConcurrency, retryPassing } from './transactor.js'

class Loss extends Error {}

const soon = () => performance.now() + 10_000

/** The highest number of those at work at the same time, of so many; each fails if `loses`. */
function crowd(most: number) {
  const inTurn = createConcurrency({ most, isLoss: (error) => error instanceof Loss })
  return async (count: number, loses = false): Promise<number> => {
    let [inside, highest] = [0, 0]
    const work = async (): Promise<void> => {
      inside += 1
      highest = Math.max(highest, inside)
      await delay(1)
      inside -= 1
      if (loses) throw new Loss()
    }
    await Promise.allSettled(Array.from({ length: count }, () => inTurn(work, soon())))
    return highest
  }
}

test('without conflicts more and more transactions run concurrently, up to the limit', async () => {
  const run = crowd(9)
  expect(await run(20)).toBe(4)
  await run(2_000)
  expect(await run(50)).toBe(9)
})

test('after conflicts transactions run one after the other, and concurrently again when none conflict', async () => {
  const run = crowd(9)
  await run(20, true)
  expect(await run(10)).toBe(1)
  await run(500)
  expect(await run(50)).toBeGreaterThan(3)
})

test('an error that is no conflict does not change the concurrency', async () => {
  const inTurn = createConcurrency({ most: 9, isLoss: () => false })
  const fail = () => Promise.reject(new Error('no row'))
  for (let time = 0; time < 50; time += 1) await expect(inTurn(fail, soon())).rejects.toThrow('no row')
  let inside = 0
  const all = Array.from({ length: 4 }, () =>
    inTurn(async () => {
      inside += 1
      await delay(5)
    }, soon()),
  )
  await delay(1)
  expect(inside).toBe(4)
  await Promise.all(all)
})

test('a transaction that hangs blocks others for one second at most', async () => {
  const inTurn = createConcurrency({ most: 1, isLoss: () => true })
  let end = (): void => undefined
  const hanging = inTurn(() => new Promise<void>((resolve) => (end = resolve)), soon())
  const began = performance.now()
  await inTurn(() => Promise.resolve(), soon())
  expect(performance.now() - began).toBeGreaterThan(900)
  // Long before its own deadline.
  expect(performance.now() - began).toBeLessThan(8_000)
  end()
  await hanging
})

test('a waiter leaves the queue at its deadline', async () => {
  const inTurn = createConcurrency({ most: 1, isLoss: () => true })
  const first = inTurn(() => delay(50), soon())
  const late = inTurn(() => Promise.resolve('late'), performance.now() + 5)
  await expect(late).rejects.toMatchObject({ code: 'busy' })
  await first
  expect(await inTurn(() => Promise.resolve('next'), soon())).toBe('next')
})

/** Work that fails with errors of these codes in turn, then succeeds. */
function failing(...codes: string[]) {
  const work = async () => {
    const code = codes.shift()
    if (code !== undefined) throw Object.assign(new Error('from PostgreSQL'), { code })
    return 'done'
  }
  return { work, left: codes }
}

test('a conflict and a lost connection are tried again until the deadline', async () => {
  expect(await retryPassing(failing('40001', '57P01').work, soon())).toBe('done')
  const { work, left } = failing('40001', '40001')
  await expect(retryPassing(work, performance.now() - 1)).rejects.toMatchObject({ code: '40001' })
  expect(left).toEqual(['40001'])
})

test('an error that does not pass is thrown at once', async () => {
  const { work, left } = failing('40001', '28P01', '40001')
  await expect(retryPassing(work, soon())).rejects.toMatchObject({ code: '28P01' })
  expect(left).toEqual(['40001'])
})
