/**
 * Calls of the parent that this thread answers for. T7: one whose message leaves the queue, in whatever way, is remembered
 * until a report names it. A thread without a parent has none.
 */
import { LIMITS } from '../protocol/limits.js'
import type { QueueMessage } from '../protocol/messages.js'
import type { QueueEntry, ThreadControl } from './control.js'

/** The start's own message as it is queued: of a child it belongs to the call that started it. */
export function firstMessage({ start: { parent } }: ThreadControl, message: QueueMessage): QueueMessage {
  if (parent === undefined || !('messageId' in message)) return message
  return { ...message, from: 'parent', invocation: parent.callId }
}

/** The call that a message brings, if it is the parent's. */
export function invocationOf({ start }: ThreadControl, message: QueueMessage): string | undefined {
  if (start.parent === undefined || !('messageId' in message)) return undefined
  return message.from === 'parent' ? message.invocation : undefined
}

/** Whether one more can be remembered: they ride in each continue-as-new. */
export function hasRoomFor(control: ThreadControl, invocation: string): boolean {
  const known = new Set([...control.invocations, ...queuedInvocations(control.queue)])
  return known.has(invocation) || known.size < LIMITS.invocations
}

/** What these items answer for. */
export function queuedInvocations(entries: readonly QueueEntry[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'message' && entry.invocation !== undefined ? [entry.invocation] : [],
  )
}

/** Remembers what items answered for that are in the queue no more. */
export function withInvocations(control: ThreadControl, entries: readonly QueueEntry[]): ThreadControl {
  const left = queuedInvocations(entries)
  if (left.length === 0) return control
  return { ...control, invocations: [...new Set([...control.invocations, ...left])] }
}
