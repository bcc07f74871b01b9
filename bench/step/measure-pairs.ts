import { randomUUID } from 'node:crypto'

import type { Client } from '@temporalio/client'
import type { ThreadClient, ThreadHandle } from 'everthread/client'

import type { bareLoop } from './bare-loop.js'
import { CONVERSATIONS } from './conversations.js'
import type { Conversation } from './conversations.js'
import { historyCost } from './history-cost.js'
import type { HistoryCost } from './history-cost.js'
import type { Turn } from './looping-model.js'
import type { Stopwatch } from './stopwatch.js'

/** Enough for the two sides of a pair to meet the same noise, few enough to have many pairs. */
const STEPS = 40
const PAIRS = 9
/** The first ones pay for compilation on both sides. */
const WARM_UP_PAIRS = 1
/** A tool that answers "ok": what a step costs beside its content. */
const SMALL_RESULT = 2

/** Milliseconds a step of the two loops, one right after the other. */
export interface Pair {
  readonly bare: number
  readonly thread: number
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
  const milliseconds = await threadSteps(bench, thread)
  const cost = await historyCost(bench.client, thread.threadId)
  const bare = before ?? (await bareSteps(bench))
  await thread.terminate()
  return { bare, thread: milliseconds, cost }
}

/** A new thread whose first turn leaves a conversation of this size: tool calls with results, as agents have. */
async function conversationOf(bench: Bench, { calls, bytes }: Conversation): Promise<ThreadHandle> {
  Object.assign(bench.turn, { calls, resultLength: Math.round(bytes / calls) } satisfies Turn)
  const thread = await bench.threads.create({ agent: 'worker', message: 'Read all of it.' })
  await thread.waitUntilIdle({ timeout: '2 minutes' })
  return thread
}

async function threadSteps({ turn, stopwatch }: Bench, thread: ThreadHandle): Promise<number> {
  Object.assign(turn, { calls: STEPS, resultLength: SMALL_RESULT } satisfies Turn)
  stopwatch.reset()
  await thread.send('Go on.')
  const { status } = await thread.waitUntilIdle({ timeout: '2 minutes' })
  return perStep(stopwatch, `a thread that is ${status}`)
}

async function bareSteps({ client, taskQueue, stopwatch }: Bench): Promise<number> {
  stopwatch.reset()
  await client.workflow.execute<typeof bareLoop>('bareLoop', {
    taskQueue,
    workflowId: `bare-${randomUUID()}`,
    args: [STEPS],
  })
  return perStep(stopwatch, 'a bare loop')
}

function perStep(stopwatch: Stopwatch, whose: string): number {
  const steps = stopwatch.steps()
  if (steps !== STEPS) throw new Error(`Expected ${STEPS} steps of ${whose}, got ${steps}.`)
  return stopwatch.perStep()
}
