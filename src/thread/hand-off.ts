/** Another agent takes over the thread: the same run, the same counters, another plan. */
import type { Side } from '../protocol/plan.js'
import { changeStep } from './calls.js'
import type { ThreadControl } from './control.js'
import { turnLeft } from './turns.js'

/** Takes effect at the end of the step, of which the first one wins; between two steps at once. */
export function handOffAsked(control: ThreadControl, agent: string): ThreadControl {
  if (control.run?.step == null) return handedOff(turnLeft(control, 'hand_off'), agent, 'a')
  return changeStep(control, (step) => ({ ...step, handOff: step.handOff ?? agent }))
}

/** The new agent acts next, with a turn of its own; its plan comes with its first model call. */
export function handedOff(control: ThreadControl, agent: string, side: Side): ThreadControl {
  const { run } = control
  const next = { ...control, agent, plan: null, activated: [] }
  if (run === null) return next
  return {
    ...next,
    run: { ...run, side, planned: false, sideStarts: true, turnHasText: false, wordless: false },
  }
}
