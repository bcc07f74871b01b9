import { toMicros } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'
import { requirePeer } from './peer-packages.js'

/** `@temporalio/activity`, for all code of this package that needs its values. */
export const { Context, activityInfo, log } =
  requirePeer<typeof import('@temporalio/activity')>('@temporalio/activity')

/** The input of the action that an activity is at, where that is not its own. */
const inputs = new WeakMap<object, object>()

/** An activity that does several actions is at this one now: lines that it logs name its step, call and operation. */
export function setCurrentInput(input: object): void {
  inputs.set(Context.current(), input)
}

/** The input of the action that the activity of this context is at; undefined: its own. */
export function currentInput(context: object): object | undefined {
  return inputs.get(context)
}

/**
 * The time at which Temporal scheduled this attempt, in microseconds of Temporal's clock. It identifies the holder in
 * the row of an operation.
 */
export function readScheduledTime(): Micros {
  return toMicros(Context.current().info.currentAttemptScheduledTimestampMs)
}
