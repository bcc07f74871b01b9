import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import type { Client } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { inTurns } from '../in-turns.js'
import { startPeer } from '../peers/with-peers.js'
import { startProcess } from '../processes/bench-process.js'
import type { LoopWorker } from '../processes/loop-worker.js'
import type { ThreadPlace } from '../processes/thread-worker.js'
import { WORKER_NODE_OPTIONS } from '../processes/worker-node-options.js'
import { processorTimeOf } from '../processor-time.js'

/** How many turns wait at once, on each side. */
export const TURNS = Number(process.env['EVERTHREAD_BENCH_SLOW'] ?? 200)
/** Of one turn: three model calls. */
export const TOOLS = 2
/** How long each answer of the model takes. */
export const SECONDS = 8
const ROUNDS = 3
/** The first ones pay for compilation on both sides. */
const WARM_UP_ROUNDS = 1
const AT_ONCE = 50
/** Many times as long as the turns of a round take. */
const PATIENCE = '10 minutes'
/** How long the idle server is looked at, in milliseconds. */
const IDLE = 10_000

export const SIDES = ['thread', 'ai_sdk'] as const
export type SideName = (typeof SIDES)[number]

/** What a round cost, in milliseconds of processor time a turn. */
export interface Round {
  readonly server: number
  readonly worker: number
  /** Seconds from the first start to the last end. */
  readonly seconds: number
}

export interface MeasuredSlowModels {
  readonly rounds: Readonly<Record<SideName, readonly Round[]>>
  /** Milliseconds of processor time a second of a server that has both workers and nothing to do. */
  readonly idle: number
}

export interface SlowModelsBench {
  readonly servers: BenchServers
  readonly client: Client
  readonly paths: {
    /** Where the peer is installed. */
    readonly folder: string
    readonly threadBundle: string
    readonly peerBundle: string
  }
}

/** One of the two: a worker process that serves nothing else. */
interface Side {
  /** Of the worker, in milliseconds. */
  processorTime(): Promise<number>
  /** Takes all turns, and answers how what they left is ended, which is not measured. */
  takeTurns(): Promise<() => Promise<void>>
  end(): Promise<void>
}

/** Rounds of both sides in turn: one of them alone waits at a time. */
export async function measureSlowModels(bench: SlowModelsBench): Promise<MeasuredSlowModels> {
  const { pid } = bench.servers
  const sides: Readonly<Record<SideName, Side>> = {
    thread: await threadSide(bench),
    ai_sdk: await peerSide(bench),
  }
  const rounds: Record<SideName, Round[]> = { thread: [], ai_sdk: [] }
  try {
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      // Who goes first changes: the second one meets a warmer machine.
      for (const name of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
        const measured = await measureRound(pid, sides[name])
        if (round >= 0) rounds[name].push(measured)
      }
    }
    const before = await processorTimeOf(pid)
    await delay(IDLE)
    return { rounds, idle: ((await processorTimeOf(pid)) - before) / (IDLE / 1000) }
  } finally {
    for (const side of Object.values(sides)) await side.end()
  }
}

async function measureRound(pid: number, side: Side): Promise<Round> {
  const times = async () => ({ server: await processorTimeOf(pid), worker: await side.processorTime() })
  const began = performance.now()
  const before = await times()
  const close = await side.takeTurns()
  const after = await times()
  const seconds = (performance.now() - began) / 1000
  await close()
  return {
    server: (after.server - before.server) / TURNS,
    worker: (after.worker - before.worker) / TURNS,
    seconds,
  }
}

const ALL = { count: TURNS, atOnce: AT_ONCE } as const

async function threadSide({ servers, client, paths }: SlowModelsBench): Promise<Side> {
  const { address, store } = servers
  const taskQueue = 'bench-slow-models-thread'
  const place: ThreadPlace = {
    ...{ address, taskQueue, store, codePath: paths.threadBundle },
    ...{ seconds: SECONDS, calls: TURNS },
  }
  const file = new URL('../processes/thread-worker.ts', import.meta.url)
  const worker = await startProcess<LoopWorker>(file, place, WORKER_NODE_OPTIONS)
  const threads = new ThreadClient({ client, taskQueue, store })
  return {
    processorTime: () => worker.ask('processorTime'),
    async takeTurns() {
      await worker.ask('begin', { loops: TURNS, steps: TOOLS })
      const started = await inTurns(ALL, () => threads.create({ agent: 'worker', message: 'Go on.' }))
      const results = await Promise.all(started.map((thread) => thread.waitUntilIdle({ timeout: PATIENCE })))
      const wrong = results.find(({ steps }) => steps !== TOOLS + 1)
      if (wrong !== undefined)
        throw new Error(`Expected turns of ${TOOLS + 1} steps, got ${wrong.steps} (${wrong.reason}).`)
      return async () => {
        await inTurns(ALL, async (n) => {
          await started[n]?.terminate()
          await started[n]?.waitUntilIdle({ timeout: PATIENCE })
        })
      }
    },
    async end() {
      await threads.close()
      await worker.end()
    },
  }
}

async function peerSide({ servers, client, paths }: SlowModelsBench): Promise<Side> {
  const taskQueue = 'bench-slow-models-ai-sdk'
  const place = {
    ...({ address: servers.address, name: 'ai_sdk', taskQueue } as const),
    ...{ bundlePath: paths.peerBundle, calls: TURNS },
  }
  const peer = await startPeer(paths.folder, place, WORKER_NODE_OPTIONS)
  const past = { bytes: 1_000, calls: 1 }
  const prepared = await peer.ask('prepare', { past, calls: TOOLS, resultLength: 2, seconds: SECONDS })
  const { workflowType, ...options } = prepared
  return {
    processorTime: () => peer.ask('processorTime'),
    async takeTurns() {
      const started = await inTurns(ALL, () =>
        client.workflow.start(workflowType, { ...options, taskQueue, workflowId: randomUUID() }),
      )
      await Promise.all(started.map((handle) => handle.result()))
      return async () => {}
    },
    end: () => peer.end(),
  }
}
