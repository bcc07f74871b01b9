import type { Operations } from '../protocol/messages.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { operationsProblem } from '../protocol/operations-problem.js'
import type { ThreadControl } from './control.js'
import { withWarning } from './facts.js'
import { acceptTool } from './inbox.js'
import { applyOperations } from './operations.js'

/** Takes an `operations` signal: what a parent or child did to this thread, in its order. None clears the stop flag. */
export function acceptOperations(control: ThreadControl, input: unknown, now: number): ThreadControl {
  const problem = operationsProblem(input)
  if (problem !== undefined) return withWarning(control, 'operations_skipped', problem)
  const { operations } = input as Operations
  return operationsTaken(control, operations, now)
}

/** What no call of this thread's step did: a tool waits its turn in the inbox, whatever becomes of a run under way. */
export function operationsTaken(
  control: ThreadControl,
  operations: readonly ThreadOperation[],
  now: number,
): ThreadControl {
  return operations.reduce((next, operation) => taken(next, operation, now), control)
}

function taken(control: ThreadControl, operation: ThreadOperation, now: number): ThreadControl {
  if (operation.kind !== 'queue_tool') return applyOperations(control, [operation], now)
  return acceptTool(control, { toolCallId: operation.id, name: operation.name }, now)
}
