/** A prompt becomes active: its immediate subagents start before its first step, also when a message is there already. */
import type { CallModelAnswer } from '../protocol/activities.js'
import { actualSide } from '../protocol/plan.js'
import type { Side } from '../protocol/plan.js'
import type { Run, Step, ThreadControl } from './control.js'

type Activates = Extract<CallModelAnswer, { readonly type: 'activates' }>

/** Nothing was drained, and no step counted: the calls are those of a step of their own, and the model is asked next. */
export function activationBegins(control: ThreadControl, side: Side, answer: Activates): ThreadControl {
  if (control.run === null) return control
  const activations = (control.run.activations ?? 0) + 1
  const run: Run = { ...control.run, planned: true, again: null, activations }
  const step: Step = {
    number: run.steps,
    side,
    text: false,
    phase: 4,
    calls: answer.calls.map(({ id, name, tool }) => ({ id, name, queued: true, tool, state: 'open' })),
    outside: true,
    activates: true,
    handOff: null,
    forcedTurn: null,
  }
  return activated({ ...control, registered: true, progressed: true, run: { ...run, step } }, side)
}

/** The plan that came with the answer of a side's model call, which may also tell that its prompt is active. */
export function withPlan(control: ThreadControl, side: Side, answer: CallModelAnswer): ThreadControl {
  const plan = 'plan' in answer ? (answer.plan ?? control.plan) : control.plan
  const planned = { ...control, plan }
  // Others did not come so far as to look for immediate subagents.
  if (answer.type !== 'answered' && answer.type !== 'interrupted') return planned
  return activated(planned, plan === null ? side : actualSide(plan, side))
}

/** What starts with the side's prompt has started. */
function activated(control: ThreadControl, side: Side): ThreadControl {
  return control.activated.includes(side) ? control : { ...control, activated: [...control.activated, side] }
}
