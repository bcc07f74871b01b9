/**
 * Operations of user code, a parent or a child on a thread: queued items, effects, handoffs, operations on other threads.
 *
 * It owns: how an operation changes the control state, the due times of effects, and the outbound signals that wait. It does
 * not own: the commit of an operation (the activities), and how a signal is sent (`workflows/`).
 * Invariants: an operation is committed with the outcome of its call and is applied once (T9). An effect that becomes due is
 * an item of the inbox (T3). The rows of an item, not this state, record that it was removed (T3). Outbound signals are sent
 * one by one, in order, before anything else.
 */
import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import { operationsProblem, queuedItemProblem } from '../protocol/message-problems.js'
import { SIGNALS } from '../protocol/messages.js'
import type {
  Operations,
  PromoteQueued,
  QueueMessage,
  QueueTool,
  RemoveQueued,
} from '../protocol/messages.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { ScheduledItem } from '../protocol/status.js'
import { utf8Length } from '../protocol/values.js'
import { changeStep } from './calls.js'
import { applyChildClose } from './children.js'
import type { QueueEntry, OutboundSignal, ThreadControl } from './control.js'
import { switchAgent, leaveTurn, withFacts, withQueueChange, withWarning } from './facts.js'
import { acceptTool, removeItems, enqueue, hasRoom, removeItem, onVariablesSet, takeOnce } from './inbox.js'
import { endRun, isEnding, stepOf } from './run.js'
import type { Millis } from '../protocol/time.js'

export function applyOperations(
  control: ThreadControl,
  operations: readonly ThreadOperation[] | undefined,
  now: Millis,
): ThreadControl {
  return (operations ?? []).reduce((next, operation) => applyOperation(next, operation, now), control)
}

function applyOperation(control: ThreadControl, operation: ThreadOperation, now: Millis): ThreadControl {
  switch (operation.kind) {
    case 'queue_message': {
      const { id, role } = operation
      return enqueue(control, { kind: 'message', id, role, queuedAt: now })
    }
    case 'queue_tool':
      return queueTool(control, operation, now)
    case 'schedule_effect':
      return scheduleEffect(control, operation)
    case 'remove_effect':
      return removeEffect(control, operation.id)
    case 'remove_queued':
      return withRemoved(control, removeItem(control, 'message', operation.id), operation.id)
    case 'set_env':
      return onVariablesSet(control, now)
    case 'hand_off':
      return requestHandOff(control, operation.agent)
    case 'force_turn':
      return changeStep(control, (step) => ({ ...step, forcedTurn: operation.side }))
    case 'stop_run':
      return stopRun(control)
    case 'terminate':
      return { ...control, terminating: true }
    case 'signal_thread':
      return addOutbound(control, operation)
    // `deferChildren` applies the first with its call, and `postponeMessages` the second with its step.
    case 'defer_child':
    case 'postpone_messages':
      return control
    case 'child_closed':
      return applyChildClose(control, operation, now)
  }
}

/** A tool that a step queues runs after the calls of the step. In a run that is ending it does not run: the settle gives it a result. */
function queueTool(
  control: ThreadControl,
  { id, name }: { readonly id: string; readonly name: string },
  now: Millis,
): ThreadControl {
  const { run } = control
  const step = stepOf(run)
  if (step === null) {
    if (run !== null && isEnding(run)) return control
    return enqueue(control, { kind: 'tool', id, name, queuedAt: now })
  }
  const queued = step.calls.filter((call) => call.queued).length
  if (queued < LIMITS.queuedToolsPerStep)
    return changeStep(control, (step) => ({
      ...step,
      calls: [...step.calls, { id, name, queued: true, state: 'open' }],
    }))
  return withFacts(
    control,
    fact(
      'runtime.warning',
      { code: 'queue_full', message: `The step has ${queued} queued tools; this one was refused.` },
      { toolCallId: id },
    ),
  )
}

/** Ends the run like a stop, but does not park the thread. */
function stopRun(control: ThreadControl): ThreadControl {
  const { run } = control
  if (run === null || (run.phase.kind === 'ending' && !run.phase.isInterrupted)) return control
  return { ...control, run: endRun(run, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }) }
}

/** Takes an `operations` signal: operations of a parent or child on this thread, in their order. None clears the stop flag. */
export function acceptOperations(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = operationsProblem(input)
  if (problem !== undefined) return withWarning(control, 'operations_skipped', problem)
  const { operations } = input as Operations
  return takeOperations(control, operations, now)
}

/** Applies operations that no call of the step made: a tool waits in the inbox, also if a run is ending. */
function takeOperations(
  control: ThreadControl,
  operations: readonly ThreadOperation[],
  now: Millis,
): ThreadControl {
  return operations.reduce((next, operation) => takeOperation(next, operation, now), control)
}

function takeOperation(control: ThreadControl, operation: ThreadOperation, now: Millis): ThreadControl {
  if (operation.kind !== 'queue_tool') return applyOperations(control, [operation], now)
  return acceptTool(control, { toolCallId: operation.id, name: operation.name }, now)
}

/** Schedules an effect, or schedules it anew; beyond the bounds it is refused. */
export function scheduleEffect(control: ThreadControl, { id, dueAt }: ScheduledItem<Millis>): ThreadControl {
  const others = removeEffect(control, id)
  const effects = [...others.effects, { id, dueAt }]
  if (effects.length <= LIMITS.effects && effectBytes(effects) <= LIMITS.effectBytes)
    return { ...others, effects }
  const refused = `The thread has ${control.effects.length} scheduled effects; this one was refused.`
  return withWarning(control, 'effects_full', refused)
}

/** Removes an effect, whether it is due or not. */
export function removeEffect(control: ThreadControl, id: string): ThreadControl {
  const unqueued = removeItem(control, 'effect', id)
  if (!unqueued.effects.some((effect) => effect.id === id)) return unqueued
  return { ...unqueued, effects: unqueued.effects.filter((effect) => effect.id !== id) }
}

interface CompletedEffect {
  readonly id: string
  readonly operations?: readonly ThreadOperation[] | undefined
}

/**
 * A due effect has run. Tools that it queued wait in the inbox, also if a stop of the run came during the effect: the end of
 * that run gives them no result.
 */
export function completeEffect(control: ThreadControl, effect: CompletedEffect, now: Millis): ThreadControl {
  const { id, operations = [] } = effect
  const next = { ...takeEffect(control, id), registered: true, progressed: true }
  return takeOperations(next, operations, now)
}

/** Gives up a due effect whose activity failed for good; the next settle stores that (T3). */
export function giveUpEffect(control: ThreadControl, effectId: string): ThreadControl {
  const givenUp = [...control.givenUp, effectId].slice(-LIMITS.givenUpEffects)
  return { ...takeEffect(control, effectId), givenUp, progressed: true }
}

function takeEffect(control: ThreadControl, id: string): ThreadControl {
  const taken = removeItem(control, 'effect', id)
  return taken === control ? control : withQueueChange(taken, { taken: [id] })
}

/** The item left the queue, if it was there. */
function withRemoved(before: ThreadControl, after: ThreadControl, id: string): ThreadControl {
  return after === before ? before : withQueueChange(after, { removed: [id] })
}

/** Forgets given up effects that a settle has stored. */
export function forgetGivenUp(control: ThreadControl, ids: readonly string[]): ThreadControl {
  if (ids.length === 0) return control
  return { ...control, givenUp: control.givenUp.filter((id) => !ids.includes(id)) }
}

/** Moves due effects into the inbox, the earliest first; an effect that finds no room there stays. */
export function queueDueEffects(control: ThreadControl, now: Millis): ThreadControl {
  if (control.terminating || control.closing !== null) return control
  const due = control.effects
    .filter(({ dueAt }) => dueAt <= now)
    .toSorted((one, other) => one.dueAt - other.dueAt)
  return due.reduce((next, { id }) => {
    const entry = { kind: 'effect', id, queuedAt: now } as const
    if (!hasRoom(next, entry)) return next
    const effects = next.effects.filter((effect) => effect.id !== id)
    return enqueue({ ...next, effects }, entry)
  }, control)
}

/** When the next effect becomes due, or null. */
export function nextEffectAt(control: ThreadControl, now: Millis): number | null {
  if (control.terminating || control.closing !== null) return null
  const times = control.effects.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now)
  return times.length === 0 ? null : Math.min(...times)
}

/** Their size in the carried form, which is a list of pairs. */
function effectBytes(effects: readonly ScheduledItem<Millis>[]): number {
  return effects.reduce((bytes, { id, dueAt }) => bytes + utf8Length(JSON.stringify([id, dueAt])) + 1, 0)
}

/** Adds an outbound signal; beyond the bound it is refused with a warning, and the other workflow does not get it. */
function addOutbound(control: ThreadControl, { to, operation }: OutboundSignal): ThreadControl {
  if (control.outbound.length < LIMITS.outboundSignals)
    return { ...control, outbound: [...control.outbound, { to, operation }] }
  const refused = `The thread has ${control.outbound.length} outbound signals that wait; one more was refused.`
  return withWarning(control, 'outbound_full', refused)
}

/** The signal that the other workflow gets; `null` is a cancellation, which is terminate(). */
type OutboundMessage =
  | { readonly signal: typeof SIGNALS.queueMessage; readonly input: QueueMessage }
  | { readonly signal: typeof SIGNALS.queueTool; readonly input: QueueTool }
  | { readonly signal: typeof SIGNALS.operations; readonly input: Operations }
  | { readonly signal: null }

/** Messages and tools have signals of their own, the same as from any sender. */
export function createOutboundMessage(
  { start }: ThreadControl,
  { to, operation }: OutboundSignal,
): OutboundMessage {
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

/** Removes the first outbound signal: it was delivered, or its thread is gone. */
export function removeOutbound(control: ThreadControl): ThreadControl {
  return { ...control, outbound: control.outbound.slice(1), progressed: true }
}

/** The code with which the removal is refused, or null. */
export function removalRefusal(
  control: ThreadControl,
  input: unknown,
): 'Item.Invalid' | 'Item.NotFound' | null {
  if (queuedItemProblem(input) !== undefined) return 'Item.Invalid'
  const { id, commandId } = input as RemoveQueued
  if (isRepeated(control, commandId)) return null
  if (control.terminating || control.closing !== null) return 'Item.NotFound'
  const entry = removable(control, id)
  if (entry === undefined) return control.effects.some((effect) => effect.id === id) ? null : 'Item.NotFound'
  // An inline message has no row that would record its removal, and a run may be delivering it.
  return isInline(entry) && control.run !== null ? 'Item.NotFound' : null
}

/** Takes a removal that was not refused. */
export function removeQueuedItem(control: ThreadControl, input: RemoveQueued): ThreadControl {
  const { id } = input
  return takeOnce(control, input, (next) => {
    const entry = removable(next, id)
    const left =
      entry === undefined || entry.kind === 'effect' ? removeEffect(next, id) : removeItems(next, [entry])
    // The caller that removed a row has stored the event.
    return entry === undefined || !isInline(entry) ? left : withQueueChange(left, { removed: [id] })
  })
}

/** The code with which the promotion is refused, or null: also an item that a model call in flight takes is not in the queue any more. */
export function promotionRefusal(
  control: ThreadControl,
  input: unknown,
): 'Item.Invalid' | 'Item.NotFound' | null {
  if (queuedItemProblem(input) !== undefined) return 'Item.Invalid'
  const { id, commandId } = input as PromoteQueued
  if (isRepeated(control, commandId)) return null
  if (control.terminating || control.closing !== null || control.run?.taking?.includes(id) === true)
    return 'Item.NotFound'
  return promotable(control, id) === undefined ? 'Item.NotFound' : null
}

/** Whether it is a repetition of a command that was taken. */
function isRepeated({ commands }: ThreadControl, commandId: string | undefined): boolean {
  return commandId !== undefined && commands.includes(commandId)
}

/** Takes a promotion that was not refused. */
export function promoteQueuedItem(control: ThreadControl, input: PromoteQueued): ThreadControl {
  const { id } = input
  return takeOnce(control, input, (next) => {
    const entry = promotable(next, id)
    if (entry === undefined || entry === next.queue[0]) return next
    const queue = [entry, ...next.queue.filter((other) => other !== entry)]
    return withQueueChange({ ...next, queue }, { promoted: [id] })
  })
}

function promotable(control: ThreadControl, id: string): QueueEntry | undefined {
  const entry = removable(control, id)
  return entry?.kind === 'effect' ? undefined : entry
}

const KINDS: readonly QueueEntry['kind'][] = ['message', 'tool', 'effect']

/** The item of this id, if callers may remove it: not reports, nor items that the thread makes itself. */
function removable({ queue }: ThreadControl, id: string): QueueEntry | undefined {
  return queue.find((entry) => entry.id === id && KINDS.includes(entry.kind))
}

function isInline(entry: QueueEntry): boolean {
  return entry.kind === 'message' && entry.inline !== undefined
}

/** A handoff takes effect at the end of the step, whose first one wins; between two steps at once. */
function requestHandOff(control: ThreadControl, agent: string): ThreadControl {
  if (stepOf(control.run) === null) return switchAgent(leaveTurn(control, 'hand_off'), agent, 'a')
  return changeStep(control, (step) => ({ ...step, handOff: step.handOff ?? agent }))
}
