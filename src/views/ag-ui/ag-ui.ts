/**
 * The view of AG-UI 1.0: what its client hears of one run of its own.
 *
 * Owns: which events of AG-UI an event of the log is, when such a run ends, and where a snapshot has to correct what was said. Does not
 * own: a message while it is written (`writing.ts`), the transcript (`messages.ts`), and what only the store knows: the messages of a
 * snapshot and the requests of an interrupt, for which the view says that they are due.
 * Invariants: one terminal, and nothing behind it; what is opened is closed before it; what the client has shown at the end is the
 * transcript. A run of AG-UI ends where a run of ours ends that has taken its messages, or where the thread waits for a person.
 */
import type { JoinedMessage } from '../../protocol/event-codes.js'
import type { Message } from '../../protocol/message.js'
import { payloadOf, textOf } from '../view.js'
import type { View, ViewedFact } from '../view.js'
import type { AgUiEvent, AgUiRun, AgUiTerminal, AgUiUsage } from './events.js'
import { metadataOf, messagesOfRow } from './messages.js'
import type { AgUiMessage } from './messages.js'
import { beginWriting, closeWriting, finishWriting, inSnapshot, write, writeArguments } from './writing.js'
import type { Writing } from './writing.js'

/** The transcript as the log had made it by then has to be said as a whole, and these messages behind it. */
export interface SnapshotDue {
  readonly type: 'SNAPSHOT_DUE'
  readonly sequence: number
  readonly more: readonly AgUiMessage[]
}

/** The thread waits for a person: if there is a request, what is open is closed and the run ends with it; else it goes on. */
export interface InterruptDue {
  readonly type: 'INTERRUPT_DUE'
  readonly sequence: number
  readonly closing: readonly (AgUiEvent | SnapshotDue)[]
  readonly usage: readonly AgUiUsage[]
}

export type AgUiOutput = AgUiEvent | SnapshotDue | InterruptDue

/** Where a run of AG-UI begins. */
export interface AgUiBeginning extends AgUiRun {
  /** The facts up to here are history, of which the client has the messages. */
  readonly from: number
  /** Messages that the run has sent, or waits for, with their texts as the client shows them; null: it does not. */
  readonly awaited: Readonly<Record<string, string | null>>
  /** The calls in what the client has that have no result. */
  readonly calls: readonly string[]
}

export interface AgUiState {
  /** Of the last fact. */
  readonly sequence: number
  readonly side: 'a' | 'b'
  readonly isRunning: boolean
  /** The request to a model under way; its text is shown if it is an answer of the thread itself. */
  readonly request: { readonly id: string; readonly isShown: boolean } | null
  readonly writing: Writing | null
  readonly steps: readonly string[]
  /** By the thread of the subagent: the invocation of it that is open. */
  readonly subagents: Readonly<Record<string, string>>
  readonly calls: readonly string[]
  /** A message was too long to know its calls. */
  readonly hasOtherCalls: boolean
  readonly awaited: AgUiBeginning['awaited']
  readonly isDelivered: boolean
  /** How a message of the run ended that was not delivered. */
  readonly lost: string | null
  readonly usage: Readonly<Record<string, AgUiUsage>>
  /** Something was said that has a place in the transcript. */
  readonly hasSpoken: boolean
  readonly isOver: boolean
}

type Step = readonly [AgUiState, readonly AgUiOutput[]]

/** Makes the view of a run that begins there. `RUN_STARTED` is said by who begins it. */
export function agUiView(run: AgUiBeginning): View<AgUiState, AgUiOutput> {
  const { from, awaited, calls } = run
  const begin: AgUiState = {
    ...{ sequence: 0, side: 'a', isRunning: false, request: null, writing: null, steps: [], subagents: {} },
    ...{ calls, hasOtherCalls: false, awaited, isDelivered: false, lost: null },
    ...{ usage: {}, hasSpoken: false, isOver: false },
  }
  return {
    begin,
    take(before, event) {
      if (before.isOver) return [before, []]
      const { sequence = before.sequence } = event
      const state = { ...remember(before, event), sequence }
      if (event.sequence !== undefined && event.sequence <= from) return [state, []]
      const [next, outputs] = say(run, state, event)
      const speaks = outputs.some(({ type }) => /^(?:TEXT|REASONING|TOOL)_/.test(type))
      const isOver = outputs.some(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')
      return [{ ...next, hasSpoken: next.hasSpoken || speaks, isOver }, outputs]
    },
  }
}

/** What history tells, too. */
function remember(state: AgUiState, event: ViewedFact): AgUiState {
  switch (event.type) {
    case 'side.started':
      return { ...state, side: event.payload.side }
    case 'run.started':
      return { ...state, isRunning: true }
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return { ...state, isRunning: false, request: null, side: 'a' }
    case 'model.requested': {
      const { messageId: id } = event
      const isShown = event.payload.routing.kind === 'reply'
      return id === undefined ? state : { ...state, request: { id, isShown } }
    }
    default:
      return state
  }
}

function say(run: AgUiRun, state: AgUiState, event: ViewedFact): Step {
  switch (event.type) {
    case 'model.delta':
    case 'reasoning.delta':
    case 'tool.args':
      return onDelta(state, event)
    case 'tool.progress':
    case 'tool.output':
      return onReport(state, event)
    case 'model.requested':
      return onRequested(state, event)
    case 'model.completed':
      return [{ ...state, usage: addUsage(state.usage, event) }, []]
    case 'message.created':
      return onMessage(state, event)
    case 'message.updated':
    case 'message.deleted':
      return [state, [snapshotWith(state, event.sequence)]]
    case 'message.ended':
      return onUndelivered(run, state, event)
    case 'tool.result':
      return onResult(state, event)
    case 'step.started':
    case 'step.completed':
      return onStep(state, event)
    case 'action.required':
      // A run that lacks variables ends, and a subagent that does waits alone.
      return event.payload.kind === 'variables' ? [state, []] : [state, [interruptDue(state, event.sequence)]]
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return onRunEnd(run, state, event)
    case 'thread.closed':
      return end(run, state, { sequence: event.sequence, type: 'failed', code: 'thread_closed' })
    case 'custom':
      return [state, [{ type: 'CUSTOM', name: event.payload.name, value: event.payload.data }]]
    case 'thread.status':
    case 'subagent.status':
    case 'file.changed':
    case 'budget.warning':
      return [state, [{ type: 'CUSTOM', name: `everthread.${event.type}`, value: payloadOf(event) }]]
    case 'subagent.spawned':
    case 'subagent.input':
    case 'subagent.completed':
    case 'subagent.failed':
    case 'subagent.closed':
      return onSubagent(state, event)
    default:
      return [state, []]
  }
}

type Live<Type extends 'model.delta' | 'reasoning.delta' | 'tool.args' | 'tool.output' | 'tool.progress'> =
  ViewedFact & { type: Type }

function onDelta(state: AgUiState, event: Live<'model.delta' | 'reasoning.delta' | 'tool.args'>): Step {
  const { messageId: id, payload } = event
  const { attempt, text } = payload
  if (state.request?.id === id && !state.request.isShown) return [state, []]
  const role = state.side === 'b' ? 'user' : 'assistant'
  const isKnown = state.writing?.id === id && state.writing.attempt >= attempt
  const dropped = isKnown ? [] : drop(state)
  const current = isKnown && state.writing !== null ? state.writing : beginWriting(id, attempt, role)
  if (current.attempt > attempt) return [state, []]
  const [writing, events] =
    event.type === 'tool.args'
      ? writeArguments(current, { id: event.toolCallId, name: event.payload.name, text })
      : write(current, event.type === 'model.delta' ? 'text' : 'reasoning', text)
  return [{ ...state, writing }, [...dropped, ...events]]
}

/** An activity would be a message of the conversation, and stay there: a report is gone once its call has a result. */
function onReport(state: AgUiState, event: Live<'tool.output' | 'tool.progress'>): Step {
  const { toolCallId, type } = event
  if (!state.hasOtherCalls && !state.calls.includes(toolCallId)) return [state, []]
  return [state, [{ type: 'CUSTOM', name: `everthread.${type}`, value: { toolCallId, ...payloadOf(event) } }]]
}

/** The answer is asked for again: what was said of it does not count. */
function onRequested(state: AgUiState, event: ViewedFact & { type: 'model.requested' }): Step {
  const { writing } = state
  if (writing === null || (writing.id === event.messageId && event.payload.attempt <= writing.attempt))
    return [state, []]
  return [{ ...state, writing: null }, drop(state, event.sequence)]
}

/** Removes what was said of a message that is not stored. */
function drop({ writing, sequence: last }: AgUiState, sequence = last): readonly (AgUiEvent | SnapshotDue)[] {
  if (writing === null) return []
  const closing = closeWriting(writing)
  if (!writing.hasText && writing.reasoning === '' && writing.calls.length === 0) return closing
  return [...closing, { type: 'SNAPSHOT_DUE', sequence, more: inSnapshot(writing, false) }]
}

function snapshotWith({ writing }: AgUiState, sequence: number): SnapshotDue {
  return { type: 'SNAPSHOT_DUE', sequence, more: writing === null ? [] : inSnapshot(writing, true) }
}

function addUsage(
  usage: AgUiState['usage'],
  { payload }: ViewedFact & { type: 'model.completed' },
): AgUiState['usage'] {
  const { model, usage: used } = payload
  const before = usage[model]
  const inputTokens = used.inputTokens + (before?.inputTokens ?? 0)
  const outputTokens = used.outputTokens + (before?.outputTokens ?? 0)
  const cachedInputTokens = used.cachedInputTokens + (before?.cachedInputTokens ?? 0)
  const totalTokens = inputTokens + outputTokens
  return { ...usage, [model]: { model, inputTokens, outputTokens, totalTokens, cachedInputTokens } }
}

function onMessage(state: AgUiState, event: ViewedFact & { type: 'message.created' }): Step {
  const { messageId: id = '', sequence } = event
  const { message, truncated }: JoinedMessage = event.payload
  const { [id]: shown, ...awaited } = state.awaited
  const isOwn = shown !== undefined
  const next = isOwn ? { ...state, awaited, isDelivered: true } : state
  const writing = state.writing?.id === id ? state.writing : null
  // It was removed since.
  if (message === null)
    return writing === null
      ? [next, []]
      : [{ ...next, writing: null }, [...closeWriting(writing), { type: 'SNAPSHOT_DUE', sequence, more: [] }]]
  if (message.depth > 0 || message.silent) return [next, []]
  if (isOwn && shown !== null) return onOwnMessage(next, { sequence, message, truncated, shown })
  const role = message.role === 'user' ? 'user' : 'assistant'
  const { fits, events } =
    message.role === 'system'
      ? { fits: true, events: wholeText(message) }
      : finishWriting(writing ?? beginWriting(id, 0, role), message)
  const calls = messagesOfRow(message).flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.id))
  const written = {
    ...{ ...next, writing: writing === null ? state.writing : null, calls: [...state.calls, ...calls] },
    hasOtherCalls: state.hasOtherCalls || truncated,
  }
  if (fits && !truncated) return [written, events]
  const closing = writing === null ? [] : closeWriting(writing)
  return [
    { ...written, hasSpoken: true },
    [
      ...closing,
      { type: 'SNAPSHOT_DUE', sequence, more: writing === null ? [] : inSnapshot(writing, false) },
    ],
  ]
}

function wholeText({ id, content }: Message): readonly AgUiEvent[] {
  return [
    { type: 'TEXT_MESSAGE_START', messageId: id, role: 'system' },
    ...((content ?? '') === ''
      ? []
      : [{ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: content ?? '' } as const]),
    { type: 'TEXT_MESSAGE_END', messageId: id },
  ]
}

interface OwnMessage {
  readonly sequence: number
  readonly message: Message
  readonly truncated: boolean
  readonly shown: string
}

/** The client shows its own message already, but perhaps above of what was said before it was taken. */
function onOwnMessage(state: AgUiState, { sequence, message, truncated, shown }: OwnMessage): Step {
  if (!state.hasSpoken) {
    const differs = truncated ? false : shown !== (message.content ?? '')
    return [state, differs ? [snapshotWith(state, sequence)] : []]
  }
  // Without it; then it comes again, at its place. So do the others that wait.
  const awaited = Object.fromEntries(Object.keys(state.awaited).map((id) => [id, null]))
  const removal = snapshotWith(state, sequence - 1)
  const again = truncated
    ? [snapshotWith(state, sequence)]
    : finishWriting(beginWriting(message.id, 0, 'user'), message).events
  return [{ ...state, awaited }, [removal, ...again]]
}

function onUndelivered(run: AgUiRun, state: AgUiState, event: ViewedFact & { type: 'message.ended' }): Step {
  const { messageId: id = '', payload, sequence } = event
  const { [id]: shown, ...awaited } = state.awaited
  if (shown === undefined) return [state, []]
  const next = { ...state, awaited, lost: payload.end }
  const rests = Object.keys(awaited).length === 0 && !state.isDelivered && !state.isRunning
  const said = [snapshotWith(state, sequence)]
  if (!rests) return [next, said]
  const [ended, outputs] = end(run, next, lostEnd(next, sequence))
  return [ended, [...said, ...outputs]]
}

function onResult(state: AgUiState, event: ViewedFact & { type: 'tool.result' }): Step {
  const { toolCallId = '', messageId, sequence, payload } = event
  const isShown = state.hasOtherCalls || state.calls.includes(toolCallId)
  if (!isShown || messageId === undefined || payload.erased === true) return [state, []]
  const next = { ...state, calls: state.calls.filter((id) => id !== toolCallId) }
  if (payload.truncated) return [{ ...next, hasSpoken: true }, [snapshotWith(state, sequence)]]
  const status = payload.outcome === 'succeeded' ? 'success' : 'error'
  const result: AgUiEvent = {
    ...{ type: 'TOOL_CALL_RESULT', role: 'tool', messageId, toolCallId, content: payload.preview ?? '' },
    ...metadataOf(payload.attachments ?? [], status),
  }
  return [next, [result]]
}

function onStep(state: AgUiState, event: ViewedFact & { type: 'step.started' | 'step.completed' }): Step {
  const { stepId: stepName = '' } = event
  const isOpen = state.steps.includes(stepName)
  if (event.type === 'step.started')
    return isOpen
      ? [state, []]
      : [{ ...state, steps: [...state.steps, stepName] }, [{ type: 'STEP_STARTED', stepName }]]
  const steps = state.steps.filter((name) => name !== stepName)
  return isOpen ? [{ ...state, steps }, [{ type: 'STEP_FINISHED', stepName }]] : [state, []]
}

type SubagentFact = ViewedFact & {
  type: 'subagent.spawned' | 'subagent.input' | 'subagent.completed' | 'subagent.failed' | 'subagent.closed'
}

function onSubagent(state: AgUiState, event: SubagentFact): Step {
  const { reference, name, threadName } = event.payload
  const { toolCallId: parentToolCallId, sequence, type } = event
  // Each message to a subagent is an invocation of its own, as is one that began in an earlier run of the client.
  const { [reference]: known, ...others } = state.subagents
  const subagentRunId = known ?? `${reference}:${sequence}`
  const opening: readonly AgUiEvent[] =
    known === undefined
      ? [
          {
            ...{ type: 'SUBAGENT_STARTED', subagentRunId, name: threadName ?? name },
            ...(parentToolCallId !== undefined && { parentToolCallId }),
          },
        ]
      : []
  if (type === 'subagent.spawned' || type === 'subagent.input')
    return [{ ...state, subagents: { ...others, [reference]: subagentRunId } }, opening]
  // A thread that closes after its report tells nothing new.
  if (type === 'subagent.closed' && known === undefined) return [state, []]
  const closing: AgUiEvent =
    type === 'subagent.completed'
      ? { type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'success' } }
      : {
          ...{ type: 'SUBAGENT_ERROR', subagentRunId, message: `The subagent "${name}" did not succeed.` },
          code: textOf(payloadOf(event)['reason']) ?? textOf(payloadOf(event)['status']) ?? 'failed',
        }
  return [{ ...state, subagents: others }, [...opening, closing]]
}

interface End {
  readonly sequence: number
  readonly type: 'completed' | 'failed' | 'cancelled'
  readonly code: string
  readonly message?: string
}

function onRunEnd(
  run: AgUiRun,
  state: AgUiState,
  event: ViewedFact & { type: 'run.completed' | 'run.failed' | 'run.cancelled' },
): Step {
  const { sequence, payload } = event
  // Its messages are still to come, with a run of their own.
  if (Object.keys(state.awaited).length > 0) return [{ ...state, writing: null }, drop(state, sequence)]
  if (state.lost !== null && !state.isDelivered) return end(run, state, lostEnd(state, sequence))
  if (payload.reason === 'blocked') return [state, [interruptDue(state, sequence)]]
  const message = textOf(payloadOf(event)['error'])
  const type = END_OF[event.type]
  return end(run, state, { sequence, type, code: payload.reason, ...(message !== null && { message }) })
}

const END_OF = { 'run.completed': 'completed', 'run.failed': 'failed', 'run.cancelled': 'cancelled' } as const

function lostEnd({ lost }: AgUiState, sequence: number): End {
  return { sequence, type: lost === 'removed' ? 'cancelled' : 'failed', code: `message_${lost ?? 'lost'}` }
}

function end(run: AgUiRun, state: AgUiState, how: End): Step {
  const usage = Object.values(state.usage)
  return [{ ...state, writing: null }, [...closeAll(state, how.sequence), terminalOf(run, { ...how, usage })]]
}

/** The last event of a run that ended so. */
export function terminalOf(
  { threadId, runId }: AgUiRun,
  { type, code, message, usage = [] }: Omit<End, 'sequence'> & { readonly usage?: readonly AgUiUsage[] },
): AgUiTerminal {
  const used = usage.length === 0 ? {} : { usage }
  if (type === 'failed')
    return { type: 'RUN_ERROR', code, message: message ?? `The run ended: ${code}.`, ...used }
  const outcome = { type: type === 'completed' ? 'success' : 'cancelled' } as const
  return { type: 'RUN_FINISHED', threadId, runId, outcome, metadata: { reason: code }, ...used }
}

function interruptDue(state: AgUiState, sequence: number): InterruptDue {
  const usage = Object.values(state.usage)
  return { type: 'INTERRUPT_DUE', sequence, closing: closeAll(state, sequence), usage }
}

/** Closes what is open; subagents that work on are suspended for this client. */
function closeAll(state: AgUiState, sequence: number): readonly (AgUiEvent | SnapshotDue)[] {
  return [
    ...drop(state, sequence),
    ...Object.values(state.subagents).map((subagentRunId): AgUiEvent => ({
      ...{ type: 'SUBAGENT_FINISHED', subagentRunId },
      outcome: { type: 'suspended' },
    })),
    ...state.steps.map((stepName): AgUiEvent => ({ type: 'STEP_FINISHED', stepName })),
  ]
}
