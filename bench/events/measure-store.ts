import { setTimeout as delay } from 'node:timers/promises'

import { Client } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'
import type { StoreOptions } from 'everthread/client'
import { createWorker } from 'everthread/worker'

import { eventsRegistry } from './events-registry.js'
import { startSubscriber } from './run-subscriber.js'
import type { Report } from './run-subscriber.js'
import type { Answer } from './stamping-model.js'

/** What is measured on each store. */
const CASES = [
  { name: 'one subscriber', threads: 1, each: 1, answers: 2 },
  { name: '100 on one thread', threads: 1, each: 100, answers: 2 },
  { name: '1,000 threads', threads: 1_000, each: 1, answers: 10 },
] as const
/** As fast as models are; ten seconds or so a case. */
const TOKENS = { 2: 200, 10: 40 } as const
const PAUSE = 20
/** How long nothing happens while the processor time is looked at. */
const IDLE = 4_000
/** Threads that are made at a time. */
const AT_A_TIME = 50

export interface Measured {
  readonly store: string
  readonly name: string
  readonly subscribers: number
  readonly idleCpu: number
  readonly tokens: number
  readonly seen: readonly number[]
}

export interface Place {
  readonly name: string
  readonly connection: NativeConnection
  readonly store: StoreOptions
}

/** One case after the other on one store, with a worker in this process and the subscribers in another. */
export async function measureStore({ name, connection, store }: Place): Promise<readonly Measured[]> {
  const taskQueue = `bench-events-${name}`
  const answer: Answer = { tokens: 0, pause: PAUSE }
  const registry = eventsRegistry(answer)
  const worker = await createWorker({ registry, store, connection, taskQueue, shutdownGraceTime: 0 })
  const threads = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
  const work = async (): Promise<readonly Measured[]> => {
    const measured: Measured[] = []
    for (const one of CASES)
      measured.push({ store: name, ...(await measureCase({ threads, store, answer }, one)) })
    return measured
  }
  try {
    return await worker.runUntil(work())
  } finally {
    await threads.close()
  }
}

interface Bench {
  readonly threads: ThreadClient
  readonly store: StoreOptions
  readonly answer: Answer
}

async function measureCase(
  { threads, store, answer }: Bench,
  { name, threads: count, each, answers }: (typeof CASES)[number],
): Promise<Omit<Measured, 'store'>> {
  const threadIds = await createThreads(threads, count)
  const subscriber = await startSubscriber(store)
  try {
    await subscriber.watch(threadIds, each)
    await subscriber.report()
    await delay(IDLE)
    const idleCpu = (await subscriber.report()).cpu / IDLE
    answer.tokens = TOKENS[answers]
    const seen: number[] = []
    for (let n = 0; n < answers; n += 1) {
      const thread = threads.get(threadIds[Math.floor((n * count) / answers)] ?? '')
      await thread.send('Speak.')
      await thread.waitUntilIdle({ timeout: '2 minutes' })
      const { ages }: Report = await subscriber.report()
      seen.push(...ages)
    }
    return { name, subscribers: count * each, idleCpu, tokens: answer.tokens * answers * each, seen }
  } finally {
    await subscriber.end()
  }
}

async function createThreads(threads: ThreadClient, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(AT_A_TIME, count - ids.length) }, () =>
      threads.create({ agent: 'speaker' }),
    )
    ids.push(...(await Promise.all(some)).map(({ threadId }) => threadId))
  }
  return ids
}
