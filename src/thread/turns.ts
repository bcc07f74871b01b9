/** The turns of a run: each that has begun is told to have ended, once. */
import type { Fact } from '../protocol/facts.js'
import { runIdOf } from '../protocol/ids.js'
import type { Side } from '../protocol/plan.js'
import type { Run, ThreadControl } from './control.js'
import { withFacts } from './facts.js'

export function sideCompleted({ number }: Run, side: Side, reason: string | null): Fact {
  return { type: 'side.completed', scope: { runId: runIdOf(number) }, payload: { side, reason } }
}

/** Somebody else acts next, and no step was judged that would tell so: the turn under way is over. */
export function turnLeft(control: ThreadControl, reason: string | null): ThreadControl {
  const { run } = control
  if (run === null || run.sideStarts) return control
  return { ...withFacts(control, sideCompleted(run, run.side, reason)), run: { ...run, sideStarts: true } }
}
