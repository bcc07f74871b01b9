import type { ActivityOutboundCallsInterceptor } from '@temporalio/worker'
import { modelOperationId, reportOperationId, settleOperationId } from '../protocol/ids.js'
import { isObject } from '../protocol/values.js'

/**
 * Adds to each line that an activity of ours logs, ours and a tool's alike, which thread, run, step and call it is about.
 * `input`: what came from Temporal; whatever it is, a line is logged.
 */
export function threadLogAttributes(
  input: () => unknown,
): NonNullable<ActivityOutboundCallsInterceptor['getLogAttributes']> {
  return (attributes, next) => next({ ...attributes, ...attributesOf(input()) })
}

function attributesOf(input: unknown): Record<string, unknown> {
  if (!isObject(input)) return {}
  const { threadId, run, step, side, agent, frame, callId } = input
  const call = callId ?? (isObject(frame) ? frame['callId'] : undefined)
  const operation = operationOf(input)
  const fields = { threadId, run, step, side, agent, call, operation }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The id of the row in `operations`. */
function operationOf({ run, step, frame, callId, settle, report, effectId }: Input): unknown {
  if (callId !== undefined) return callId
  if (typeof settle === 'number') return settleOperationId(settle)
  if (typeof report === 'number') return reportOperationId(report)
  if (effectId !== undefined) return effectId
  if (typeof run !== 'number' || typeof step !== 'number') return undefined
  return modelOperationId(run, step, isObject(frame) ? String(frame['callId']) : null)
}

type Input = Readonly<Record<string, unknown>>
