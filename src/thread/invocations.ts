/**
 * Calls of the parent that this thread answers for. T7: one whose message leaves the queue, in whatever way, is remembered
 * until a report names it. A thread without a parent has none.
 */
import { LIMITS } from '../protocol/limits.js'
import type { QueueMessage } from '../protocol/messages.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { withQueue } from './queue-bytes.js'

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

/** Forgets these, also where they still wait: a message that was answered for asks for no other answer. */
export function withoutInvocations(control: ThreadControl, named: readonly string[]): ThreadControl {
  if (named.length === 0) return control
  const queue = control.queue.map((entry) => {
    if (entry.kind !== 'message' || entry.invocation === undefined) return entry
    const { invocation, ...message } = entry
    return named.includes(invocation) ? message : entry
  })
  const invocations = control.invocations.filter((invocation) => !named.includes(invocation))
  return { ...withQueue(control, queue), invocations }
}

/** They ride in each continue-as-new: a parent that sends so many waits for none but the newest. */
export function newestInvocations(control: ThreadControl): ThreadControl {
  const known = [...new Set([...control.invocations, ...queuedInvocations(control.queue)])]
  return withoutInvocations(control, known.slice(0, Math.max(0, known.length - LIMITS.invocations)))
}
