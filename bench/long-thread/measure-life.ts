import type { ThreadHandle } from 'everthread/client'

import type { LoopingWorker } from '../looping-worker.js'
import { median } from '../median.js'

/** Two messages a step: the call and its result. */
const STEPS = 5_000
/** Turns of this many steps make them. */
const TURN = 1_000
/** As pages and listings are. */
const RESULT = 5_000
/** Steps that are compared. */
const COMPARED = 100
/** From the begin of a thread to its first cut there are some eighty steps of such results, and half as many to the next. */
const UNTIL_CUT = 120
const PAIRS = 3

/** Milliseconds of a step, of a hundred: the median, or with run ahead, where every tenth step is a long one, the mean. */
export interface LongLife {
  readonly messages: number
  readonly continuedAsNew: number
  /** The thread's own: after its window was first full, and at its end. */
  readonly early: number
  readonly late: number
  /** The old thread, and a new one after its window was first full, in the same minute. */
  readonly pairs: readonly { readonly old: number; readonly young: number }[]
}

interface TakenTurn {
  /** Milliseconds of each step. */
  readonly steps: readonly number[]
  /** Steps whose requests are shorter than those before: the window was full and was cut. */
  readonly cuts: readonly number[]
}

type Agent = NonNullable<Parameters<LoopingWorker['createThread']>[0]>

/** A thread of ten thousand messages of this agent; `continuedAsNew` counts its Temporal runs at the end. */
export async function measureLife(
  worker: LoopingWorker,
  agent: Agent,
  countRuns: (thread: ThreadHandle) => Promise<number>,
): Promise<LongLife> {
  const typical = agent === 'ahead' ? mean : median
  const thread = await worker.createThread(agent)
  const turns: TakenTurn[] = []
  for (let done = 0; done < STEPS; done += TURN) turns.push(await takeTurn(worker, thread, TURN))
  const [firstTurn] = turns
  const lastTurn = turns.at(-1)
  if (firstTurn === undefined || lastTurn === undefined) throw new Error('Expected turns.')
  const early = typical(afterCut(firstTurn, firstTurn.cuts[0]))
  const lastCut = lastTurn.cuts.findLast((cut) => cut + COMPARED <= lastTurn.steps.length)
  const late = typical(afterCut(lastTurn, lastCut))
  const pairs = []
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const young = typical(await afterFirstCut(worker, await worker.createThread(agent)))
    pairs.push({ young, old: typical(await afterFirstCut(worker, thread)) })
  }
  return {
    messages: 2 * STEPS,
    continuedAsNew: (await countRuns(thread)) - 1,
    early,
    late,
    pairs,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((one, other) => one + other, 0) / values.length
}

async function afterFirstCut(worker: LoopingWorker, thread: ThreadHandle): Promise<readonly number[]> {
  const turn = await takeTurn(worker, thread, UNTIL_CUT + COMPARED)
  return afterCut(turn, turn.cuts[0])
}

/** From a cut on, so that what is compared begins with windows of the same size. */
function afterCut({ steps }: TakenTurn, cut: number | undefined): readonly number[] {
  const compared = steps.slice(cut, (cut ?? 0) + COMPARED)
  if (cut === undefined || compared.length < COMPARED)
    throw new Error(`Expected ${COMPARED} steps after a cut of the window, got ${compared.length}.`)
  return compared
}

async function takeTurn(worker: LoopingWorker, thread: ThreadHandle, calls: number): Promise<TakenTurn> {
  const requests: number[] = []
  worker.stopwatch.reset()
  await worker.takeTurn(thread, {
    calls,
    resultLength: RESULT,
    asked: (messages) => void requests.push(messages),
  })
  const cuts = requests.flatMap((messages, step) => (messages < (requests[step - 1] ?? 0) ? [step] : []))
  return { steps: worker.stopwatch.each(), cuts }
}
