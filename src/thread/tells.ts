/**
 * Operations on other threads: their rows were committed with the outcome of a call, their workflows are told one by one,
 * in order, before anything else.
 */
import { LIMITS } from '../protocol/limits.js'
import type { Tell, ThreadControl } from './control.js'
import { withWarning } from './facts.js'

/** Something was done to another thread; beyond the bound its workflow is not told, visibly. */
export function tellAdded(control: ThreadControl, { to, operation }: Tell): ThreadControl {
  if (control.tells.length < LIMITS.waitingTells)
    return { ...control, tells: [...control.tells, { to, operation }] }
  const refused = `The thread has ${control.tells.length} operations on other threads to tell; one more was refused.`
  return withWarning(control, 'tells_full', refused)
}

/** The first one was told, or its thread is gone and needs no telling. */
export function tellDone(control: ThreadControl): ThreadControl {
  return { ...control, tells: control.tells.slice(1), progressed: true }
}
