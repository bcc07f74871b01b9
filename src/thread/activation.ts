/** A prompt becomes active: its immediate subagents start before its first step, also when a message is there already. */
import type { CallModelAnswer } from '../protocol/activities.js'
import type { Side } from '../protocol/plan.js'
import type { Run, Step, ThreadControl } from './control.js'

type Activates = Extract<CallModelAnswer, { readonly type: 'activates' }>

/** Nothing was drained, and no step counted: the calls are those of a step of their own, and the model is asked next. */
export function activationBegins(control: ThreadControl, side: Side, answer: Activates): ThreadControl {
  if (control.run === null) return control
  const run: Run = { ...control.run, planned: true, again: null }
  const step: Step = {
    number: run.steps,
    side,
    text: false,
    phase: 4,
    calls: answer.calls.map(({ id, name, tool }) => ({ id, name, queued: true, tool, state: 'open' })),
    outside: true,
    handOff: null,
    forcedTurn: null,
  }
  return activated({ ...control, registered: true, progressed: true, run: { ...run, step } }, side)
}

/** The side's model was asked, or is asked next: what starts with its prompt has started. */
export function activated(control: ThreadControl, side: Side): ThreadControl {
  return control.activated.includes(side) ? control : { ...control, activated: [...control.activated, side] }
}

/** Answers of a model call that looked for immediate subagents. */
export function activates({ type }: CallModelAnswer): boolean {
  return type === 'answered' || type === 'interrupted'
}
