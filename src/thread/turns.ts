/**
 * The turns of a run, and the handoff to another agent: the same run and counters go on with another plan.
 *
 * It owns: the end of a turn that no step was judged for. It does not own: turns that end with a step (`advance.ts`).
 * Invariant: a turn that has begun is told to have ended, once.
 */
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf } from '../protocol/ids.js'
import type { Side } from '../protocol/plan.js'
import { changeStep } from './calls.js'
import type { ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { restartTurn, stepOf } from './run.js'
import type { Run } from './run.js'

export function sideCompleted({ number }: Run, side: Side, reason: string | null): Fact {
  return fact('side.completed', { side, reason }, { runId: runIdOf(number) })
}

/** Somebody else acts next, and no step was judged that would tell so: the turn under way is over. */
export function turnLeft(control: ThreadControl, reason: string | null): ThreadControl {
  const { run } = control
  if (run === null || run.turn.kind === 'starting') return control
  return {
    ...withFacts(control, sideCompleted(run, run.side, reason)),
    run: { ...run, turn: restartTurn(run.turn) },
  }
}

/** Takes effect at the end of the step, of which the first one wins; between two steps at once. */
export function handOffAsked(control: ThreadControl, agent: string): ThreadControl {
  if (stepOf(control.run) === null) return handedOff(turnLeft(control, 'hand_off'), agent, 'a')
  return changeStep(control, (step) => ({ ...step, handOff: step.handOff ?? agent }))
}

/** The new agent acts next, with a turn of its own; its plan comes with its first model call. */
export function handedOff(control: ThreadControl, agent: string, side: Side): ThreadControl {
  const { run } = control
  const next = { ...control, agent, plan: null, activated: [] }
  if (run === null) return next
  return {
    ...next,
    run: { ...run, side, planning: 'unknown', turn: { kind: 'starting', wordless: false } },
  }
}
