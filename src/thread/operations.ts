/** What user code did to its thread, as answers of activities tell it: committed with its outcome, applied once (T9). */
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { changeStep } from './calls.js'
import { childClosed } from './children.js'
import type { Run, ThreadControl } from './control.js'
import { effectRemoved, effectScheduled } from './effects.js'
import { withFacts } from './facts.js'
import { handOffAsked } from './hand-off.js'
import { enqueue, removed, variablesSet } from './inbox.js'
import { tellAdded } from './tells.js'

export function applyOperations(
  control: ThreadControl,
  operations: readonly ThreadOperation[] | undefined,
  now: number,
): ThreadControl {
  return (operations ?? []).reduce((next, operation) => applied(next, operation, now), control)
}

function applied(control: ThreadControl, operation: ThreadOperation, now: number): ThreadControl {
  switch (operation.kind) {
    case 'queue_message': {
      const { id, role } = operation
      return enqueue(control, { kind: 'message', id, role, queuedAt: now })
    }
    case 'queue_tool':
      return toolQueued(control, operation, now)
    case 'schedule_effect':
      return effectScheduled(control, operation)
    case 'remove_effect':
      return effectRemoved(control, operation.id)
    case 'remove_queued':
      return removed(control, 'message', operation.id)
    case 'set_env':
      return variablesSet(control, now)
    case 'hand_off':
      return handOffAsked(control, operation.agent)
    case 'force_turn':
      return changeStep(control, (step) => ({ ...step, forcedTurn: operation.side }))
    case 'stop_run':
      return runStopped(control)
    case 'terminate':
      return { ...control, terminating: true }
    case 'tell':
      return tellAdded(control, operation)
    // The call that asked for the child takes it, and the step that met the messages takes those.
    case 'defer_child':
    case 'came_late':
      return control
    case 'child_closed':
      return childClosed(control, operation, now)
  }
}

/** A tool of a step runs after its calls. At the end of a run, whose settle gives it its result, it runs no more. */
function toolQueued(
  control: ThreadControl,
  { id, name }: { readonly id: string; readonly name: string },
  now: number,
): ThreadControl {
  const { run } = control
  if (run?.step == null) {
    if (run !== null && isEnding(run)) return control
    return enqueue(control, { kind: 'tool', id, name, queuedAt: now })
  }
  const queued = run.step.calls.filter((call) => call.queued).length
  if (queued < LIMITS.queuedToolsPerStep)
    return changeStep(control, (step) => ({
      ...step,
      calls: [...step.calls, { id, name, queued: true, state: 'open' }],
    }))
  return withFacts(control, {
    type: 'runtime.warning',
    scope: { toolCallId: id },
    payload: { code: 'queue_full', message: `The step has ${queued} queued tools; this one was refused.` },
  })
}

/** Its settle comes next. */
export function isEnding({ ending, stopRequested }: Run): boolean {
  return ending !== null || stopRequested
}

/** As a stop, but the thread is not parked. */
function runStopped(control: ThreadControl): ThreadControl {
  const { run } = control
  if (run === null || run.ending !== null) return control
  return {
    ...control,
    run: { ...run, ending: { reason: 'stopped', outcome: 'cancelled', sessionCall: null } },
  }
}
