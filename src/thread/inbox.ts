/**
 * The inbox: everything that asks for work is an item of one FIFO queue, drained between steps.
 * T3: accepted items keep their order. T10: what is malformed is recorded and skipped. Handlers are synchronous.
 */
import { LIMITS } from '../protocol/limits.js'
import { OUR_IDS, queueMessageProblem, stopProblem, utf8Length } from '../protocol/messages.js'
import type { QueueMessage, Stop } from '../protocol/messages.js'
import { runIdOf } from '../protocol/ids.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { withFacts, withWarning } from './facts.js'

/** Takes a `queueMessage` signal. */
export function acceptMessage(control: ThreadControl, input: unknown, now: number): ThreadControl {
  const problem = queueMessageProblem(input)
  if (problem !== undefined) return withWarning(control, 'message_skipped', problem)
  const message = input as QueueMessage
  const role = message.role ?? 'user'
  if ('messageId' in message) {
    const byUser = role === 'user' && message.from === undefined
    return enqueue(control, { kind: 'message', id: message.messageId, role, queuedAt: now }, byUser)
  }
  const inline = { content: message.content, role, silent: message.silent === true }
  const { id, numbered } = nextItem(control)
  return enqueue(numbered, { kind: 'message', id, role, queuedAt: now, inline }, role === 'user')
}

/** Takes a `continue` signal: clears the stop flag and asks for a step; one that waits asks for all. */
export function acceptContinue(control: ThreadControl, now: number): ThreadControl {
  const going = { ...control, stopped: false }
  if (going.queue.some((entry) => entry.kind === 'continue')) return going
  const { id, numbered } = nextItem(going)
  return enqueue(numbered, { kind: 'continue', id, queuedAt: now }, true)
}

/** Items without an id of a sender; senders cannot choose one that begins like this. */
function nextItem(control: ThreadControl): { readonly id: string; readonly numbered: ThreadControl } {
  const number = control.itemsNumbered + 1
  return { id: `${OUR_IDS}item:${number}`, numbered: { ...control, itemsNumbered: number } }
}

/** Takes a `stop` signal: ends the current run and parks the thread; where nothing runs or waits, nothing happens. */
export function acceptStop(control: ThreadControl, input: unknown): ThreadControl {
  const problem = stopProblem(input)
  if (problem !== undefined) return withWarning(control, 'stop_skipped', problem)
  const runId = (input as Stop | null | undefined)?.runId
  const { run } = control
  if (run === null)
    return runId === undefined && control.queue.length > 0 ? { ...control, stopped: true } : control
  if (runId !== undefined && runId !== runIdOf(run.number)) return control
  return { ...control, stopped: true, run: { ...run, stopRequested: true } }
}

/** Takes a signal that this version does not know: recorded and skipped, for ever (T11). */
export function acceptUnknownSignal(control: ThreadControl): ThreadControl {
  return withWarning(
    control,
    'signal_unknown',
    'A signal of a name that this version does not know was skipped.',
  )
}

/** Adds an item, within the bounds of the carried state. */
export function enqueue(control: ThreadControl, entry: QueueEntry, clearsStop: boolean): ThreadControl {
  if (control.queue.some((queued) => queued.id === entry.id)) return control
  const bytes = entryBytes(entry)
  const full = control.queue.length >= LIMITS.queuedItems || control.queueBytes + bytes > LIMITS.queueBytes
  // T7: what answers for a child is never refused; the number of children bounds it.
  if (full && entry.kind !== 'report' && entry.kind !== 'child_closed')
    return withFacts(control, {
      type: 'runtime.warning',
      scope: { messageId: entry.id },
      payload: {
        code: 'queue_full',
        message: `The queue holds ${control.queue.length} items; this one was refused.`,
      },
    })
  const queued: ThreadControl = {
    ...control,
    queue: [...control.queue, entry],
    queueBytes: control.queueBytes + bytes,
    stopped: control.stopped && !clearsStop,
    closing: control.closing === null ? null : { ...control.closing, settled: false },
  }
  return withFacts(queued, { type: 'queue.changed', payload: { waiting: queued.queue.length } })
}

/** Removes the items that a step has drained. */
export function drained(control: ThreadControl, entries: readonly QueueEntry[]): ThreadControl {
  const ids = new Set(entries.map((entry) => entry.id))
  const queue = control.queue.filter((entry) => !ids.has(entry.id))
  return { ...control, queue, queueBytes: queue.reduce((bytes, entry) => bytes + entryBytes(entry), 0) }
}

/** As it is carried: a control character is six bytes there, and senders choose ids and inline texts. */
function entryBytes(entry: QueueEntry): number {
  return utf8Length(JSON.stringify(entry))
}
