/**
 * The inbox: everything that asks for work is an item of one FIFO queue, drained between steps.
 *
 * It owns: the handlers of signals, the order and the bounds of the queue, and the calls of the parent that this thread
 * answers for. It does not own: rows of messages (the store), and who takes an item (`next-action.ts`).
 * Invariants: accepted items keep their order (T3), unless a recorded command moves one: a promotion, or a message that preempts.
 * A message for the next turn, and what is behind it, waits for the end of the run. What is malformed is recorded and skipped (T10). A call of the parent
 * whose message leaves the queue, in whatever way, is remembered until a report names it (T7). Handlers are synchronous.
 */
import { fact } from '../protocol/facts.js'
import { runIdOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import {
  queueMessageProblem,
  queueToolProblem,
  setEnvProblem,
  stopProblem,
} from '../protocol/message-problems.js'
import { OUR_IDS } from '../protocol/messages.js'
import type { QueuedDelivery, QueueMessage, QueueTool, Stop } from '../protocol/messages.js'
import type { ItemKind } from '../protocol/payloads/queue.js'
import { isObject, utf8Length } from '../protocol/values.js'
import { listCalls } from './calls.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { withFacts, withQueueChange, withWarning } from './facts.js'
import { preempt, stepOf } from './run.js'
import type { Ending } from './run.js'
import type { Millis } from '../protocol/time.js'

/** Takes a `queueMessage` signal. */
export function acceptMessage(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = queueMessageProblem(input)
  if (problem !== undefined) return withWarning(control, 'message_skipped', problem)
  const message = input as QueueMessage
  const role = message.role ?? 'user'
  const deliver = deliveryOf(control, message)
  const common = { role, queuedAt: now, ...(deliver !== undefined && { deliver }) } as const
  if ('messageId' in message) {
    const entry = { kind: 'message', id: message.messageId, ...common } as const
    const invocation = invocationOf(control, message)
    const known = deliver === 'preempt' ? rememberCommand(control, message.messageId) : control
    if (invocation === undefined)
      return enqueue(known, entry, { clearsStop: role === 'user' && message.from === undefined })
    // The parent is the user of its child, so its message clears the stop flag: else it would wait for a parked thread (T7).
    return keepNewestInvocations(enqueue(control, { ...entry, invocation }, { clearsStop: true }))
  }
  const inline = { content: message.content, role, silent: message.silent === true }
  const { id, numbered } = nextItem(control)
  const entry = { kind: 'message', id, ...common, inline } as const
  return enqueue(numbered, entry, { clearsStop: role === 'user' })
}

/**
 * A thread that closes after its session has one run: what is sent to it joins that. A message preempts once: the run that has taken it
 * is not ended by a repeated signal.
 */
function deliveryOf({ start, commands }: ThreadControl, message: QueueMessage): QueuedDelivery | undefined {
  const { deliver } = message
  if (deliver === 'preempt' && 'messageId' in message && commands.includes(message.messageId))
    return undefined
  return deliver === 'next_step' || start.resumable === false ? undefined : deliver
}

/** Takes a `continue` signal. */
export function acceptContinue(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  return takeOnce(control, input, (next) => goOn(next, now))
}

/** Takes a command once: its sender may repeat it, with its id, after the thread has done other things. */
export function takeOnce(
  control: ThreadControl,
  input: unknown,
  take: (next: ThreadControl) => ThreadControl,
): ThreadControl {
  const id = isObject(input) ? input['commandId'] : undefined
  if (typeof id !== 'string' || id.length > LIMITS.commandIdLength) return take(control)
  return control.commands.includes(id) ? control : take(rememberCommand(control, id))
}

function rememberCommand(control: ThreadControl, id: string): ThreadControl {
  return { ...control, commands: [...control.commands, id].slice(-LIMITS.commandIds) }
}

/** Clears the stop flag and asks for a step. One such item in the queue is enough. */
export function goOn(control: ThreadControl, now: Millis): ThreadControl {
  const going = reviveRun({ ...control, stopped: false })
  if (going.queue.some((entry) => entry.kind === 'continue')) return going
  const { id, numbered } = nextItem(going)
  return enqueue(numbered, { kind: 'continue', id, queuedAt: now }, { clearsStop: true })
}

/** Takes a `queueTool` signal: the tool waits its turn, and does not clear the stop flag. */
export function acceptTool(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = queueToolProblem(input)
  if (problem !== undefined) return withWarning(control, 'tool_skipped', problem)
  const { toolCallId: id, name } = input as QueueTool
  // The sender repeats a signal whose tool is running already.
  if (listCalls(stepOf(control.run)?.calls ?? []).some((call) => call.id === id)) return control
  return enqueue(control, { kind: 'tool', id, name, queuedAt: now })
}

/** Takes a `setEnv` signal. */
export function acceptSetEnv(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = setEnvProblem(input)
  return problem === undefined
    ? onVariablesSet(control, now)
    : withWarning(control, 'set_env_skipped', problem)
}

/**
 * Variables were stored. A blocked thread tries again: the stop flag is cleared, and an item asks for a step. During a run,
 * which may just have missed a variable, the item waits until the run ends. Otherwise nothing happens.
 */
export function onVariablesSet(control: ThreadControl, now: Millis): ThreadControl {
  const blocked = control.request !== null
  if (!blocked && control.run === null) return control
  const going = blocked ? { ...control, stopped: false } : control
  if (going.queue.some((entry) => entry.kind === 'variables')) return going
  const { id, numbered } = nextItem(going)
  return enqueue(numbered, { kind: 'variables', id, queuedAt: now }, { clearsStop: blocked })
}

/** The id of an item whose sender gives none; a sender cannot choose an id with this prefix. */
function nextItem(control: ThreadControl): { readonly id: string; readonly numbered: ThreadControl } {
  const number = control.itemsNumbered + 1
  return { id: `${OUR_IDS}item:${number}`, numbered: { ...control, itemsNumbered: number } }
}

/** Takes a `stop` signal: ends the current run and parks the thread; where nothing runs or waits, nothing happens. */
export function acceptStop(control: ThreadControl, input: unknown): ThreadControl {
  const problem = stopProblem(input)
  if (problem !== undefined) return withWarning(control, 'stop_skipped', problem)
  return takeOnce(control, input, (next) => {
    const { removed = [], ...stop } = (input as Stop | null | undefined) ?? {}
    return stopRun(removeRemoved(next, removed), stop)
  })
}

function stopRun(control: ThreadControl, { runId, children, parks }: Omit<Stop, 'removed'>): ThreadControl {
  const { run } = control
  const stopped = control.stopped || parks !== false
  if (run === null) return runId === undefined && control.queue.length > 0 ? { ...control, stopped } : control
  if (runId !== undefined && runId !== runIdOf(run.number)) return control
  const stop = run.stop === 'run_and_children' || children !== false ? 'run_and_children' : 'run'
  return { ...control, stopped, run: { ...run, stop } }
}

/** Their rows say that they are removed, and the client that removed them has stored the event. */
function removeRemoved(control: ThreadControl, removed: readonly string[]): ThreadControl {
  const ids = new Set(removed)
  return removeItems(
    control,
    control.queue.filter((entry) => hasRow(entry) && ids.has(entry.id)),
  )
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
export function enqueue(
  control: ThreadControl,
  entry: QueueEntry,
  { clearsStop = false }: { readonly clearsStop?: boolean } = {},
): ThreadControl {
  if (control.queue.some((queued) => isSame(queued, entry))) return control
  if (!hasRoom(control, entry))
    return withFacts(
      withInvocations(control, [entry]),
      fact(
        'runtime.warning',
        {
          code: 'queue_full',
          message: `The queue holds ${control.queue.length} items; this one was refused.`,
        },
        entry.kind === 'tool' ? { toolCallId: entry.id } : { messageId: entry.id },
      ),
    )
  const queued: ThreadControl = {
    ...control,
    queue: placeEntry(control.queue, entry),
    queueBytes: control.queueBytes + entryBytes(entry),
    stopped: control.stopped && !clearsStop,
    closing: control.closing === null ? null : { ...control.closing, settled: false },
  }
  const waiting = clearsStop ? reviveRun(queued) : queued
  const told = withQueueChange(waiting, { added: [{ id: entry.id, kind: kindOf(entry) }] })
  return deliveryOfEntry(entry) === 'preempt' ? preemptRun(told, control.stopped) : told
}

/** A message that preempts goes before everything but earlier ones of its kind, which keep their order; any other item goes last. */
function placeEntry(queue: readonly QueueEntry[], entry: QueueEntry): readonly QueueEntry[] {
  if (deliveryOfEntry(entry) !== 'preempt') return [...queue, entry]
  return queue.toSpliced(queue.findLastIndex((other) => deliveryOfEntry(other) === 'preempt') + 1, 0, entry)
}

/** The run ends for the message, without parking the thread. One that a stop has ended already ends by that. */
function preemptRun(control: ThreadControl, wasStopped: boolean): ThreadControl {
  const { run } = control
  return run === null || wasStopped ? control : { ...control, run: preempt(run) }
}

function deliveryOfEntry(entry: QueueEntry): QueuedDelivery | undefined {
  return entry.kind === 'message' ? entry.deliver : undefined
}

/** The kind of an item, as readers of the thread have it. */
export function kindOf({ kind }: QueueEntry): ItemKind {
  return kind === 'child_closed' || kind === 'group' ? 'report' : kind
}

/** Something that clears the stop flag came during a run: if the run ends blocked, the thread is not parked but tries again. */
function reviveRun(control: ThreadControl): ThreadControl {
  return control.run === null ? control : { ...control, run: { ...control.run, revives: true } }
}

/**
 * Whether the carried state has room for the item. T7: items that answer for a child always fit; the number of children bounds
 * them. T3: the store bounds the items that it admits. It has room again as soon as a model call has begun with a full queue, or
 * an item was removed, and may admit as many again, more than once, before this workflow gets the answer of that call.
 */
export function hasRoom({ queue, queueBytes }: ThreadControl, entry: QueueEntry): boolean {
  if (entry.kind === 'report' || entry.kind === 'child_closed' || entry.kind === 'group') return true
  const bytes = queueBytes + entryBytes(entry)
  if (queue.length < LIMITS.queuedItems && bytes <= LIMITS.queueBytes) return true
  return (
    hasRow(entry) &&
    queue.length < LIMITS.queuesAdmitted * LIMITS.queuedItems &&
    bytes <= LIMITS.queuesAdmitted * LIMITS.queueBytes
  )
}

/** Whether an item came of which only the workflow knows. */
export function gotItemWithoutRow(before: ThreadControl, after: ThreadControl): boolean {
  return after.queue.some((entry) => !hasRow(entry) && !before.queue.includes(entry))
}

/** The store has admitted it. */
function hasRow(entry: QueueEntry): boolean {
  return entry.kind === 'tool' || (entry.kind === 'message' && entry.inline === undefined)
}

/** Removes these items from the queue. */
export function removeItems(control: ThreadControl, entries: readonly QueueEntry[]): ThreadControl {
  if (entries.length === 0) return control
  const keys = new Set(entries.map(keyOf))
  const leaving = control.queue.filter((entry) => keys.has(keyOf(entry)))
  return withQueue(
    withInvocations(control, leaving),
    control.queue.filter((entry) => !leaving.includes(entry)),
  )
}

/** Puts those of these items that wait before all others, in the order in which they were taken (T3). */
export function putFirst(control: ThreadControl, taken: readonly QueueEntry[]): ThreadControl {
  const keys = new Set(taken.map(keyOf))
  const isTaken = (entry: QueueEntry): boolean => keys.has(keyOf(entry))
  const first = control.queue.filter(isTaken)
  if (first.length === 0 || first.length === control.queue.length) return control
  return { ...control, queue: [...first, ...control.queue.filter((entry) => !isTaken(entry))] }
}

/** Removes the item of this kind and id, if it waits. */
export function removeItem(control: ThreadControl, kind: QueueEntry['kind'], id: string): ThreadControl {
  const entry = control.queue.find((queued) => queued.kind === kind && queued.id === id)
  return entry === undefined ? control : removeItems(control, [entry])
}

/**
 * The items that one model call drains: all up to the first tool or effect, and up to the first message for the next turn, with which
 * only a run that has not begun may begin.
 */
export function listDrainable({ queue, run }: ThreadControl): readonly QueueEntry[] {
  const begins = run?.began === 'not_yet'
  const stop = queue.findIndex(
    (entry, index) =>
      entry.kind === 'tool' ||
      entry.kind === 'effect' ||
      (deliveryOfEntry(entry) === 'next_turn' && !(begins && index === 0)),
  )
  return stop === -1 ? queue : queue.slice(0, stop)
}

function isSame(one: QueueEntry, other: QueueEntry): boolean {
  return keyOf(one) === keyOf(other)
}

/** Messages and reports share one space of ids; tools, effects and groups have their own. */
function keyOf({ kind, id }: QueueEntry): string {
  return kind === 'tool' || kind === 'effect' || kind === 'group' ? `${kind} ${id}` : id
}

/** An item of the queue in its carried form, which is short: each continue-as-new carries up to a thousand. */
export type PackedEntry =
  | readonly ['m', string, 0 | 1, number, invocation?: string | null, deliver?: QueuedDelivery]
  | readonly ['i', string, 0 | 1, number, string, 0 | 1, deliver?: QueuedDelivery]
  | readonly ['c', string, string, string, number]
  | readonly ['t', string, string, number]
  | readonly ['r' | 'e' | 'v' | 'g' | 'n', string, number]

const TAGS = { report: 'r', effect: 'e', variables: 'v', continue: 'g', group: 'n' } as const
const KINDS = { r: 'report', e: 'effect', v: 'variables', g: 'continue', n: 'group' } as const

export function packEntry(entry: QueueEntry): PackedEntry {
  const { id, queuedAt } = entry
  if (entry.kind === 'child_closed') return ['c', id, entry.reference, entry.status, queuedAt]
  if (entry.kind === 'tool') return ['t', id, entry.name, queuedAt]
  if (entry.kind !== 'message') return [TAGS[entry.kind], id, queuedAt]
  const role = entry.role === 'assistant' ? 1 : 0
  const { inline, invocation, deliver } = entry
  if (inline !== undefined) {
    const packed = ['i', id, role, queuedAt, inline.content, inline.silent ? 1 : 0] as const
    return deliver === undefined ? packed : [...packed, deliver]
  }
  if (deliver !== undefined) return ['m', id, role, queuedAt, invocation ?? null, deliver]
  return invocation === undefined ? ['m', id, role, queuedAt] : ['m', id, role, queuedAt, invocation]
}

export function unpackEntry(packed: PackedEntry): QueueEntry {
  switch (packed[0]) {
    case 'm': {
      const [, id, isAssistant, queuedAt, invocation, deliver] = packed
      return {
        ...{ kind: 'message', id, role: roleOf(isAssistant), queuedAt },
        ...(invocation != null && { invocation }),
        ...(deliver !== undefined && { deliver }),
      }
    }
    case 'i': {
      const [, id, isAssistant, queuedAt, content, silent, deliver] = packed
      const role = roleOf(isAssistant)
      const inline = { content, role, silent: silent === 1 }
      return { kind: 'message', id, role, queuedAt, inline, ...(deliver !== undefined && { deliver }) }
    }
    case 'c': {
      const [, id, reference, status, queuedAt] = packed
      return { kind: 'child_closed', id, reference, status, queuedAt }
    }
    case 't':
      return { kind: 'tool', id: packed[1], name: packed[2], queuedAt: packed[3] }
    default:
      return { kind: KINDS[packed[0]], id: packed[1], queuedAt: packed[2] }
  }
}

function roleOf(isAssistant: 0 | 1): 'user' | 'assistant' {
  return isAssistant === 1 ? 'assistant' : 'user'
}

/** Replaces the queue and counts its share of the carried state anew. */
export function withQueue(control: ThreadControl, queue: readonly QueueEntry[]): ThreadControl {
  return { ...control, queue, queueBytes: queue.reduce((bytes, entry) => bytes + entryBytes(entry), 0) }
}

/** Its size in the carried form: senders choose ids and inline texts, and a control character takes six bytes there. */
function entryBytes(entry: QueueEntry): number {
  return utf8Length(JSON.stringify(packEntry(entry))) + 1
}

/** The message of the start input; that of a child belongs to the call that started the child. */
export function firstMessage({ start: { parent } }: ThreadControl, message: QueueMessage): QueueMessage {
  if (parent === undefined || !('messageId' in message)) return message
  return { ...message, from: 'parent', invocation: parent.callId }
}

/** The call of the parent that a message belongs to, if it comes from the parent. */
function invocationOf({ start }: ThreadControl, message: QueueMessage): string | undefined {
  if (start.parent === undefined || !('messageId' in message)) return undefined
  return message.from === 'parent' ? message.invocation : undefined
}

/** The calls of the parent that these items belong to. */
export function listInvocations(entries: readonly QueueEntry[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'message' && entry.invocation !== undefined ? [entry.invocation] : [],
  )
}

/** Remembers the calls of items that leave the queue. */
export function withInvocations(control: ThreadControl, entries: readonly QueueEntry[]): ThreadControl {
  const left = listInvocations(entries)
  if (left.length === 0) return control
  return { ...control, invocations: [...new Set([...control.invocations, ...left])] }
}

/** Forgets these calls, also those of items in the queue: a message whose call was answered needs no other answer. */
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

/** Keeps the newest calls only, since each continue-as-new carries them: a parent with so many waits only for the newest. */
function keepNewestInvocations(control: ThreadControl): ThreadControl {
  const known = [...new Set([...control.invocations, ...listInvocations(control.queue)])]
  return withoutInvocations(control, known.slice(0, Math.max(0, known.length - LIMITS.invocations)))
}

/** Whether variables came while the run found some missing: the thread is not parked, and the next run tries again. */
export function looksAgain({ queue, request }: ThreadControl, ending: Ending): boolean {
  const lacksVariables = ending.outcome === 'blocked' && (ending.request !== undefined || request !== null)
  return lacksVariables && queue.some(({ kind }) => kind === 'variables')
}
