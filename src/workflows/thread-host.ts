import { CancellationScope, workflowInfo } from '@temporalio/workflow'
import type { ThreadControl } from '../thread/control.js'
import type { Millis } from '../protocol/time.js'

/** What is told to stop: `stop` is what a stop cuts, and a terminate cuts everything. */
export type CutBy = 'stop' | 'terminate'

/** The mutable cell of one Temporal run: the control state, what is in flight, what was shown. */
export interface ThreadHost {
  readonly control: ThreadControl
  readonly level: number
  /** Bytes of its history when this Temporal run began. */
  readonly began: number
  /** Signals and updates that this Temporal run took. */
  readonly signals: number
  /** When the action under way began, in milliseconds. */
  readonly since: Millis
  /** Changes the control state. */
  update(change: (control: ThreadControl) => ThreadControl): void
  countSignal(): void
  /** Runs something that a stop or terminate may cut. */
  cancellable<T>(work: () => Promise<T>, by: CutBy): Promise<T>
  /** Cuts what is in flight, if this cuts it. */
  cut(by: CutBy): void
  startsAction(now: Millis): void
}

export function createThreadHost(initial: ThreadControl, level: number): ThreadHost {
  const began = workflowInfo().historySize
  let control = initial
  let signals = 0
  let since = Date.now()
  let cutBy: CutBy | null = null
  let scope: CancellationScope | null = null
  return {
    get control() {
      return control
    },
    get signals() {
      return signals
    },
    get since() {
      return since
    },
    level,
    began,
    update: (change) => {
      control = change(control)
    },
    countSignal: () => {
      signals += 1
    },
    // One scope until it is cut, for each would stay with the run's own: what is over in it is not cut again.
    cancellable: (work, by) => {
      if (scope === null || scope.consideredCancelled) scope = new CancellationScope({ cancellable: true })
      cutBy = by
      return scope.run(work)
    },
    cut: (by) => {
      if (by === 'terminate' || cutBy === by) scope?.cancel()
    },
    startsAction: (now) => {
      since = now
    },
  }
}
