import { randomUUID } from 'node:crypto'

import type { ThreadHandle } from 'everthread/client'

import type { LoopingWorker } from '../looping-worker.js'
import { countedRounds, measureRound } from '../sides.js'
import type { BySide, Side } from '../sides.js'
import type { bareLoop } from './bare-loop.js'
import { CONVERSATIONS, conversationOf } from './conversations.js'
import type { Conversation } from './conversations.js'
import { aheadHistoryCost, historyCost } from './history-cost.js'
import type { HistoryCost } from './history-cost.js'
import type { StepTime, Stopwatch } from './stopwatch.js'

/**
 * Enough for the sides of a round to meet the same noise, few enough to have many rounds, and for a turn to stay in one
 * Temporal run: `historyCost` looks at one. Where a thread runs ahead they are whole activities of ten.
 */
const STEPS = { thread: 36, ahead: 40, bare: 36 } as const satisfies BySide<number>
const ROUNDS = countedRounds(9)
/** The first ones pay for compilation on all sides. */
const WARM_UP_ROUNDS = 1
/** A tool that answers "ok": what a step costs beside its content. */
const SMALL_RESULT = 2

/** A step of the three loops, one right after the other. */
export interface Round {
  readonly times: BySide<StepTime>
  readonly costs: Readonly<Record<Exclude<Side, 'bare'>, HistoryCost>>
}

export interface Measured {
  readonly conversation: Conversation
  readonly rounds: readonly Round[]
}

/** All rounds of all conversations, sizes in turn, so that a burst of noise does not hit one of them alone. */
export async function measureRounds(worker: LoopingWorker): Promise<{
  readonly measured: readonly Measured[]
  readonly steps: number
}> {
  const rounds = new Map<Conversation, Round[]>(CONVERSATIONS.map((conversation) => [conversation, []]))
  for (let n = -WARM_UP_ROUNDS; n < ROUNDS; n += 1) {
    for (const [conversation, taken] of rounds) {
      const round = await measureConversation(worker, conversation, n)
      if (n >= 0) taken.push(round)
    }
  }
  const measured = [...rounds].map(([conversation, taken]) => ({ conversation, rounds: taken }))
  const steps = STEPS.thread + STEPS.ahead
  return { measured, steps: measured.reduce((sum, { rounds: { length } }) => sum + length * steps, 0) }
}

async function measureConversation(
  worker: LoopingWorker,
  conversation: Conversation,
  n: number,
): Promise<Round> {
  const thread = await conversationOf(worker, conversation)
  const ahead = await conversationOf(worker, conversation, 'ahead')
  const measures: BySide<() => Promise<StepTime>> = {
    thread: () => threadSteps(worker, thread, 'thread'),
    ahead: () => threadSteps(worker, ahead, 'ahead'),
    bare: () => bareSteps(worker),
  }
  const times = await measureRound(n, (side) => measures[side]())
  const costs = {
    thread: await historyCost(worker.client, thread.threadId, STEPS.thread + 1),
    ahead: await aheadHistoryCost(worker.client, ahead.threadId),
  }
  await Promise.all([thread.terminate(), ahead.terminate()])
  return { times, costs }
}

async function threadSteps(
  worker: LoopingWorker,
  thread: ThreadHandle,
  side: 'thread' | 'ahead',
): Promise<StepTime> {
  worker.stopwatch.reset()
  await worker.takeTurn(thread, { calls: STEPS[side], resultLength: SMALL_RESULT })
  return perStep(worker.stopwatch, side)
}

async function bareSteps({ client, taskQueue, stopwatch }: LoopingWorker): Promise<StepTime> {
  stopwatch.reset()
  await client.workflow.execute<typeof bareLoop>('bareLoop', {
    taskQueue,
    workflowId: `bare-${randomUUID()}`,
    args: [STEPS.bare],
  })
  return perStep(stopwatch, 'bare')
}

function perStep(stopwatch: Stopwatch, side: Side): StepTime {
  const steps = stopwatch.steps()
  if (steps !== STEPS[side])
    throw new Error(`Expected ${STEPS[side]} steps of the loop ${side}, got ${steps}.`)
  return stopwatch.perStep()
}
