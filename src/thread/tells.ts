/**
 * Operations on other threads: their rows were committed with the outcome of a call, their workflows are told one by one,
 * in order, before anything else.
 */
import { LIMITS } from '../protocol/limits.js'
import { SIGNALS } from '../protocol/messages.js'
import type { Operations, QueueMessage, QueueTool } from '../protocol/messages.js'
import type { Tell, ThreadControl } from './control.js'
import { withWarning } from './facts.js'

/** Something was done to another thread; beyond the bound its workflow is not told, visibly. */
export function tellAdded(control: ThreadControl, { to, operation }: Tell): ThreadControl {
  if (control.tells.length < LIMITS.waitingTells)
    return { ...control, tells: [...control.tells, { to, operation }] }
  const refused = `The thread has ${control.tells.length} operations on other threads to tell; one more was refused.`
  return withWarning(control, 'tells_full', refused)
}

/** What the other thread's workflow is sent. */
export type ToldAs =
  | { readonly signal: typeof SIGNALS.queueMessage; readonly input: QueueMessage }
  | { readonly signal: typeof SIGNALS.queueTool; readonly input: QueueTool }
  | { readonly signal: typeof SIGNALS.operations; readonly input: Operations }
  | { readonly signal: null }

/** What has a signal of its own comes as from anybody else; `null` is a cancellation, which is terminate(). */
export function toldAs({ start }: ThreadControl, { to, operation }: Tell): ToldAs {
  switch (operation.kind) {
    case 'queue_message': {
      const { id: messageId, role } = operation
      const from = to === start.parent?.threadId ? 'child' : 'parent'
      return { signal: SIGNALS.queueMessage, input: { messageId, role, from } }
    }
    case 'queue_tool': {
      const { id: toolCallId, name } = operation
      return { signal: SIGNALS.queueTool, input: { toolCallId, name } }
    }
    case 'terminate':
      return { signal: null }
    default:
      return { signal: SIGNALS.operations, input: { operations: [operation] } }
  }
}

/** The first one was told, or its thread is gone and needs no telling. */
export function tellDone(control: ThreadControl): ThreadControl {
  return { ...control, tells: control.tells.slice(1), progressed: true }
}
