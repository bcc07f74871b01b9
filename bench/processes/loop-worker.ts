import { Context } from '@temporalio/activity'

import { createTally } from '../loop/tally.js'
import type { Tally, Window } from '../loop/tally.js'
import { processorTime } from '../processor-time.js'
import { answerOrders } from './answer-orders.js'
import { memoryNow, watchMemory } from './memory.js'

/** What a worker process is told. */
export interface LoopPlace {
  readonly address: string
  readonly taskQueue: string
  /** Made by the bench: a worker that bundles by itself keeps what that took. */
  readonly codePath: string
  readonly maxCachedWorkflows?: number
}

interface Running {
  readonly tally: Tally
  readonly run: () => Promise<void>
}

/** The orders of a worker process. */
export function loopWorkerOrders(tally: Tally) {
  let watch = watchMemory()
  return {
    begin({ loops, steps }: { readonly loops: number; readonly steps: number }) {
      watch.end()
      watch = watchMemory()
      tally.begin(loops, steps)
    },
    /** Resolves when all have ended, with the largest resident memory until then, and the time of the last mark. */
    async done() {
      await tally.done()
      return { largest: watch.end(), last: tally.last() }
    },
    rate: (of: Window) => tally.rate(of),
    memory: memoryNow,
    processorTime,
  }
}

export type LoopWorker = ReturnType<typeof loopWorkerOrders>

/** Runs the worker, and does what the bench asks. */
export function serveLoops({ tally, run }: Running): void {
  run().catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
  answerOrders(loopWorkerOrders(tally))
}

/** The tally of this process, and the mark of an activity: its workflow begins a step. */
export function workflowTally(): { readonly tally: Tally; readonly mark: () => boolean } {
  const tally = createTally()
  return { tally, mark: () => tally.mark(workflowId()) }
}

function workflowId(): string {
  const { workflowExecution } = Context.current().info
  if (workflowExecution === undefined) throw new Error('Expected an activity of a workflow.')
  return workflowExecution.workflowId
}
