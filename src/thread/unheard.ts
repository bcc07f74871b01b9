/**
 * An activity that leaves no answer may have committed one, or the first part of its work: its worker died, or was told to
 * stop, before it was heard. What it did to its thread is told by the settle that ends the run (T9).
 */
import type { Frame } from '../protocol/activities.js'
import { activationsOf, beginOperationId, modelOperationId, resultOperationId } from '../protocol/ids.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { ThreadControl } from './control.js'
import { childrenDeferred } from './deferred.js'
import { applyOperations } from './operations.js'

interface Asked {
  readonly run: number
  readonly step?: number
  readonly frame?: Frame | null
  readonly callId?: string
  readonly toolFirst?: boolean
  readonly activated?: boolean
  readonly activations?: number
}

/** The operations that an activity with this input may have begun or finished. */
export function operationsOf(name: string, asked: Asked): readonly string[] {
  const { run, step, frame, callId } = asked
  if (name === 'completeCall' && callId !== undefined) return [resultOperationId(callId)]
  if (callId !== undefined) return [callId]
  if (name !== 'callModel' || step === undefined) return []
  // A frame is refused under the id of its call.
  if (frame != null) return [frame.callId, modelOperationId(run, step, frame.callId)]
  if (asked.toolFirst === true) return [beginOperationId(run)]
  const model = modelOperationId(run, step)
  return asked.activated === false ? [activationsOf({ run, step }, asked.activations), model] : [model]
}

/** Nobody heard what came of these. */
export function answerMissed(control: ThreadControl, operations: readonly string[]): ThreadControl {
  if (control.run === null || operations.length === 0) return control
  return { ...control, run: { ...control.run, unheard: operations } }
}

/** What was committed all the same happens now. A thread that closes does nothing more, but others are told (T8). */
export function missedTold(
  control: ThreadControl,
  { unheard = [], operations = [] }: Missed,
  now: number,
): ThreadControl {
  if (operations.length === 0) return control
  if (control.closing !== null)
    return applyOperations(
      control,
      operations.filter(({ kind }) => kind === 'tell'),
      now,
    )
  const [callId] = unheard
  const deferring = callId === undefined ? control : childrenDeferred(control, callId, operations, now)
  return applyOperations(deferring, operations, now)
}

interface Missed {
  /** Of the run that was settled. */
  readonly unheard?: readonly string[] | undefined
  readonly operations?: readonly ThreadOperation[] | undefined
}
