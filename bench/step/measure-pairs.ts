import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import type { Client } from '@temporalio/client'
import type { ThreadClient, ThreadHandle } from 'everthread/client'

import type { bareLoop } from './bare-loop.js'
import { CONVERSATIONS } from './conversations.js'
import type { Conversation } from './conversations.js'
import { historyCost } from './history-cost.js'
import type { HistoryCost } from './history-cost.js'
import type { Turn } from './looping-model.js'
import type { StepTime, Stopwatch } from './stopwatch.js'

/** Enough for the two sides of a pair to meet the same noise, few enough to have many pairs. */
const STEPS = 40
const PAIRS = 9
/** The first ones pay for compilation on both sides. */
const WARM_UP_PAIRS = 1
/** A tool that answers "ok": what a step costs beside its content. */
const SMALL_RESULT = 2
const TURN_DEADLINE = 120_000

/** A step of the two loops, one right after the other. */
export interface Pair {
  readonly bare: StepTime
  readonly thread: StepTime
  readonly cost: HistoryCost
}

export interface Measured {
  readonly conversation: Conversation
  readonly pairs: readonly Pair[]
}

interface Bench {
  readonly client: Client
  readonly threads: ThreadClient
  readonly taskQueue: string
  readonly turn: Turn
  readonly stopwatch: Stopwatch
}

/** All pairs of all conversations, sizes in turn, so that a burst of noise does not hit one of them alone. */
export async function measurePairs(bench: Bench): Promise<{
  readonly measured: readonly Measured[]
  readonly steps: number
}> {
  const pairs = new Map<Conversation, Pair[]>(CONVERSATIONS.map((conversation) => [conversation, []]))
  for (let round = -WARM_UP_PAIRS; round < PAIRS; round += 1) {
    for (const [conversation, taken] of pairs) {
      const pair = await measurePair(bench, conversation, round % 2 === 0)
      if (round >= 0) taken.push(pair)
    }
  }
  const measured = [...pairs].map(([conversation, taken]) => ({ conversation, pairs: taken }))
  return { measured, steps: measured.reduce((sum, { pairs: { length } }) => sum + length * STEPS, 0) }
}

/** Who goes first changes from round to round: the second one meets a warmer machine. */
async function measurePair(bench: Bench, conversation: Conversation, bareFirst: boolean): Promise<Pair> {
  const thread = await conversationOf(bench, conversation)
  const before = bareFirst ? await bareSteps(bench) : null
  const time = await threadSteps(bench, thread)
  const cost = await historyCost(bench.client, thread.threadId, STEPS + 1)
  const bare = before ?? (await bareSteps(bench))
  await thread.terminate()
  return { bare, thread: time, cost }
}

/** A new thread whose first turn leaves a conversation of this size: tool calls with results, as agents have. */
async function conversationOf(bench: Bench, { calls, bytes }: Conversation): Promise<ThreadHandle> {
  const thread = await bench.threads.create({ agent: 'worker' })
  await takeTurn(bench, thread, { calls, resultLength: Math.round(bytes / calls) })
  return thread
}

async function threadSteps(bench: Bench, thread: ThreadHandle): Promise<StepTime> {
  bench.stopwatch.reset()
  await takeTurn(bench, thread, { calls: STEPS, resultLength: SMALL_RESULT })
  return perStep(bench.stopwatch, 'a thread')
}

/** Nobody follows the thread meanwhile, as nobody follows the bare loop: that would cost the worker's process time. */
async function takeTurn({ turn }: Bench, thread: ThreadHandle, next: Omit<Turn, 'ended'>): Promise<void> {
  const ended = new Promise<void>((resolve) => Object.assign(turn, { ...next, ended: resolve }))
  await thread.send('Go on.')
  await Promise.race([ended, tooLong()])
  await thread.waitUntilIdle()
}

async function bareSteps({ client, taskQueue, stopwatch }: Bench): Promise<StepTime> {
  stopwatch.reset()
  await client.workflow.execute<typeof bareLoop>('bareLoop', {
    taskQueue,
    workflowId: `bare-${randomUUID()}`,
    args: [STEPS],
  })
  return perStep(stopwatch, 'a bare loop')
}

function perStep(stopwatch: Stopwatch, whose: string): StepTime {
  const steps = stopwatch.steps()
  if (steps !== STEPS) throw new Error(`Expected ${STEPS} steps of ${whose}, got ${steps}.`)
  return stopwatch.perStep()
}

/** A turn takes seconds; a bench that waits longer would never say what is wrong. */
async function tooLong(): Promise<never> {
  await delay(TURN_DEADLINE, undefined, { ref: false })
  throw new Error(`Expected the end of a turn within ${TURN_DEADLINE} ms.`)
}
