import type { Operations } from '../protocol/messages.js'
import type { ToldOperation } from '../protocol/operations.js'
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
  return operations.reduce((next, operation) => accepted(next, operation, now), control)
}

function accepted(control: ThreadControl, operation: ToldOperation, now: number): ThreadControl {
  if (operation.kind !== 'queue_tool') return applyOperations(control, [operation], now)
  // No call of this thread's step asked for it: it waits its turn in the inbox.
  return acceptTool(control, { toolCallId: operation.id, name: operation.name }, now)
}
