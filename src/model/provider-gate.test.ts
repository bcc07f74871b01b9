import { expect, test } from 'vitest'

import { ProviderGate } from './provider-gate.js'

import type { Visit } from './provider-gate.js'

/** A gate whose time passes only by its own waits, and when a test says so. */
function gateWithClock() {
  let time = 0
  const slept: number[] = []
  const gate = new ProviderGate({
    now: () => time,
    sleep: async (milliseconds, signal) => {
      signal.throwIfAborted()
      slept.push(milliseconds)
      time += milliseconds
    },
  })
  const visit = (limit: Visit['limit'], key = 'one'): Visit => ({
    limit,
    key,
    signal: new AbortController().signal,
  })
  return { gate, slept, visit, pass: (milliseconds: number) => void (time += milliseconds) }
}

test('requests of one minute beyond the limit are told when to come', async () => {
  const { gate, visit } = gateWithClock()
  const limit = { requestsPerMinute: 2 }
  const ran: string[] = []
  const go = (key: string) => gate.run(visit(limit, key), async () => void ran.push(key))
  await go('a')
  await go('b')
  await expect(go('c')).rejects.toMatchObject({ kind: 'throttled', retryable: true, retryAfter: 60_000 })
  expect(ran).toEqual(['a', 'b'])
})

test('a place in the line is kept for who asks again', async () => {
  const { gate, visit, pass } = gateWithClock()
  const limit = { requestsPerMinute: 1 }
  const go = (key: string) => gate.run(visit(limit, key), async () => key)
  await go('a')
  await expect(go('b')).rejects.toMatchObject({ retryAfter: 60_000 })
  await expect(go('c')).rejects.toMatchObject({ retryAfter: 120_000 })
  pass(60_000)
  // Without its place it would be behind c.
  await expect(go('b')).resolves.toBe('b')
  await expect(go('d')).rejects.toMatchObject({ retryAfter: 120_000 })
})

test('a short wait for the minute happens inside', async () => {
  const { gate, visit, pass, slept } = gateWithClock()
  const limit = { requestsPerMinute: 1 }
  await gate.run(visit(limit), async () => undefined)
  pass(55_000)
  await gate.run(visit(limit), async () => undefined)
  expect(slept).toEqual([5000])
})

test('calls beyond the concurrency follow in order', async () => {
  const gate = new ProviderGate()
  const order: string[] = []
  const ends: (() => void)[] = []
  const visit = (key: string) => ({
    limit: { concurrency: 1 },
    key,
    signal: new AbortController().signal,
  })
  const go = (key: string) =>
    gate.run(visit(key), async () => {
      order.push(key)
      await new Promise<void>((resolve) => void ends.push(resolve))
    })
  const all = ['a', 'b', 'c'].map(go)
  for (const count of [1, 2, 3]) {
    await expect.poll(() => ends.length).toBe(count)
    expect(order).toHaveLength(count)
    ends[count - 1]?.()
  }
  await Promise.all(all)
  expect(order).toEqual(['a', 'b', 'c'])
})

test('a provider that stays full is left after ten seconds', async () => {
  const { gate, visit, slept } = gateWithClock()
  const limit = { concurrency: 1 }
  await gate.run(visit(limit, 'a'), async () => {
    const second = gate.run(visit(limit, 'b'), async () => undefined)
    await expect(second).rejects.toMatchObject({ kind: 'throttled', retryAfter: 15_000 })
  })
  expect(slept).toEqual([10_000])
  await expect(gate.run(visit(limit, 'b'), async () => 'in')).resolves.toBe('in')
})

test('who leaves the line gives its room to the next', async () => {
  const gate = new ProviderGate()
  const limit = { concurrency: 1 }
  const controller = new AbortController()
  let end = (): void => undefined
  const first = gate.run({ limit, key: 'a', signal: new AbortController().signal }, async () => {
    await new Promise<void>((resolve) => void (end = resolve))
  })
  const left = gate.run({ limit, key: 'b', signal: controller.signal }, async () => 'b')
  const next = gate.run({ limit, key: 'c', signal: new AbortController().signal }, async () => 'c')
  controller.abort(new Error('stop'))
  await expect(left).rejects.toThrow('stop')
  end()
  await first
  await expect(next).resolves.toBe('c')
})
