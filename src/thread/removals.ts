/** Items that somebody takes back while they wait. T3: their rows, not this state, say that they are never delivered. */
import { removeQueuedProblem } from '../protocol/message-problems.js'
import type { RemoveQueued } from '../protocol/messages.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { effectRemoved } from './effects.js'
import { withFacts } from './facts.js'
import { drained } from './inbox.js'

/** Why the removal is refused, or null: nothing changes then. */
export function removalRefusal(
  control: ThreadControl,
  input: unknown,
): 'Item.Invalid' | 'Item.NotFound' | null {
  if (removeQueuedProblem(input) !== undefined) return 'Item.Invalid'
  if (control.terminating || control.closing !== null) return 'Item.NotFound'
  const { id } = input as RemoveQueued
  const entry = removable(control, id)
  if (entry === undefined) return control.effects.some((effect) => effect.id === id) ? null : 'Item.NotFound'
  // It has no row that would say so: a run may be delivering it.
  return isInline(entry) && control.run !== null ? 'Item.NotFound' : null
}

/** Takes a removal that was not refused. */
export function itemRemoved(control: ThreadControl, { id }: RemoveQueued): ThreadControl {
  const entry = removable(control, id)
  const left =
    entry === undefined || entry.kind === 'effect' ? effectRemoved(control, id) : drained(control, [entry])
  // Whoever removed a row has told of it.
  if (entry === undefined || !isInline(entry)) return left
  return withFacts(left, { type: 'queue.changed', payload: { waiting: left.queue.length } })
}

const KINDS: readonly QueueEntry['kind'][] = ['message', 'tool', 'effect']

/** Reports, and what the thread asks itself, are nobody's to take back. */
function removable({ queue }: ThreadControl, id: string): QueueEntry | undefined {
  return queue.find((entry) => entry.id === id && KINDS.includes(entry.kind))
}

function isInline(entry: QueueEntry): boolean {
  return entry.kind === 'message' && entry.inline !== undefined
}
