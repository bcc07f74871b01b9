import type { ThreadHandle } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { now } from '../clock.js'
import { inTurns } from '../in-turns.js'
import { loopModel } from '../loop/loop-model.js'
import { loopRegistry } from '../loop/loop-registry.js'
import { withThreads } from '../with-threads.js'
import { createArrivals } from './arrivals.js'
import type { Arrivals } from './arrivals.js'

/** Whether the worker still has the threads that are woken. */
export interface Cache {
  readonly name: 'warm' | 'cold'
  readonly threads: number
  readonly maxCachedWorkflows: number
}

/** Of more threads than the cache holds, woken in turn, each has been evicted when its turn comes. */
export const CACHES = [
  { name: 'warm', threads: 20, maxCachedWorkflows: 100 },
  { name: 'cold', threads: 40, maxCachedWorkflows: 10 },
] as const satisfies readonly Cache[]
const WAKES = 120
/** Turns before the first counted wake: some histories that a cold wake has to read. */
const TURNS = 2

/** Milliseconds from the message to the model, of each wake. */
export async function measureWakes(
  servers: BenchServers,
  { name, threads: count, maxCachedWorkflows }: Cache,
): Promise<readonly number[]> {
  const arrivals = createArrivals()
  const model = loopModel(() => {
    arrivals.arrive()
    return false
  })
  const registry = loopRegistry({ model })
  return withThreads(
    servers,
    { taskQueue: `bench-wake-${name}`, registry, maxCachedWorkflows },
    async ({ threads: client }) => {
      const threads = await inTurns({ count, atOnce: 10 }, () => client.create({ agent: 'worker' }))
      const inTurn = (n: number): ThreadHandle => threads[n % count] ?? client.get('')
      for (let n = 0; n < TURNS * count; n += 1) await wake(arrivals, inTurn(n))
      const times: number[] = []
      for (let n = 0; n < WAKES; n += 1) times.push(await wake(arrivals, inTurn(n)))
      return times
    },
  )
}

/** It is idle before and after. */
async function wake(arrivals: Arrivals, thread: ThreadHandle): Promise<number> {
  const arrival = arrivals.next()
  const from = now()
  await thread.send('Wake up.')
  const at = await arrival
  await thread.waitUntilIdle()
  return at - from
}
