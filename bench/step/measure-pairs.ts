import { randomUUID } from 'node:crypto'

import type { ThreadHandle } from 'everthread/client'

import type { LoopingWorker } from '../looping-worker.js'
import type { bareLoop } from './bare-loop.js'
import { CONVERSATIONS, conversationOf } from './conversations.js'
import type { Conversation } from './conversations.js'
import { historyCost } from './history-cost.js'
import type { HistoryCost } from './history-cost.js'
import type { StepTime, Stopwatch } from './stopwatch.js'

/**
 * Enough for the two sides of a pair to meet the same noise, few enough to have many pairs, and for a turn to stay in one
 * Temporal run: `historyCost` looks at one.
 */
const STEPS = 36
const PAIRS = 9
/** The first ones pay for compilation on both sides. */
const WARM_UP_PAIRS = 1
/** A tool that answers "ok": what a step costs beside its content. */
const SMALL_RESULT = 2

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

/** All pairs of all conversations, sizes in turn, so that a burst of noise does not hit one of them alone. */
export async function measurePairs(worker: LoopingWorker): Promise<{
  readonly measured: readonly Measured[]
  readonly steps: number
}> {
  const pairs = new Map<Conversation, Pair[]>(CONVERSATIONS.map((conversation) => [conversation, []]))
  for (let round = -WARM_UP_PAIRS; round < PAIRS; round += 1) {
    for (const [conversation, taken] of pairs) {
      const pair = await measurePair(worker, conversation, round % 2 === 0)
      if (round >= 0) taken.push(pair)
    }
  }
  const measured = [...pairs].map(([conversation, taken]) => ({ conversation, pairs: taken }))
  return { measured, steps: measured.reduce((sum, { pairs: { length } }) => sum + length * STEPS, 0) }
}

/** Who goes first changes from round to round: the second one meets a warmer machine. */
async function measurePair(
  worker: LoopingWorker,
  conversation: Conversation,
  bareFirst: boolean,
): Promise<Pair> {
  const thread = await conversationOf(worker, conversation)
  const before = bareFirst ? await bareSteps(worker) : null
  const time = await threadSteps(worker, thread)
  const cost = await historyCost(worker.client, thread.threadId, STEPS + 1)
  const bare = before ?? (await bareSteps(worker))
  await thread.terminate()
  return { bare, thread: time, cost }
}

async function threadSteps(worker: LoopingWorker, thread: ThreadHandle): Promise<StepTime> {
  worker.stopwatch.reset()
  await worker.takeTurn(thread, { calls: STEPS, resultLength: SMALL_RESULT })
  return perStep(worker.stopwatch, 'a thread')
}

async function bareSteps({ client, taskQueue, stopwatch }: LoopingWorker): Promise<StepTime> {
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
