import type { CallOutcome, Usage } from './activities.js'
import type { EventScope, Phase } from './facts.js'
import type { AttachmentRef, Message, MessageRole } from './message.js'
import type { Side } from './plan.js'
import type { QueuedItem, StopReason, ThreadStatus } from './status.js'
import type { JsonValue } from './values.js'

/** What every event carries. */
interface Envelope extends EventScope {
  /**
   * Where a subscriber is once it has this event: `events({ after: cursor })` goes on from here, in the middle of a text
   * too. Opaque, ASCII, and of this subscription: two subscribers may have different ones at the same event.
   */
  readonly cursor: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly schemaVersion: number
  readonly threadId: string
}

/** What every fact of the event log carries. */
interface FactEnvelope extends Envelope {
  /** Per thread, from 1, without gaps. */
  readonly sequence: number
  /** Unique in the store. */
  readonly eventId: string
}

/** Text while it streams: no fact, so it has no sequence, and `message.created` replaces it. */
interface DeltaEnvelope extends Envelope {
  readonly sequence?: undefined
  readonly eventId?: undefined
  readonly messageId: string
}

type FactOf<Type extends string, Payload> = FactEnvelope & { readonly type: Type; readonly payload: Payload }
type DeltaOf<Type extends string> = DeltaEnvelope & { readonly type: Type; readonly payload: DeltaPayload }

/**
 * The first delta of a subscription holds all text that came since its cursor, or since the beginning. A higher attempt
 * means: drop what was shown before.
 */
export interface DeltaPayload {
  readonly attempt: number
  /** Characters of this kind before it, in this attempt. */
  readonly offset: number
  readonly text: string
}

/** How a run ended. */
export interface RunEnded {
  readonly reason: StopReason
  readonly steps: number
  readonly usage: Usage
}

/** Whole if it is at most 16 KiB as JSON, else cut; `bytes` is its full size, and `messages()` has all of it. */
export interface JoinedMessage {
  /** Null if it was removed since. */
  readonly message: Message | null
  readonly truncated: boolean
  readonly bytes: number
}

/**
 * The event table: what each event holds in the log, by type. Writers are checked against it (`Fact`), and `ThreadEvent` is
 * made of it, so a payload that is not the promised one does not compile. Ids, registered names and numbers only (T5), but
 * for `custom`; texts are joined when an event is delivered (`JoinedPayloads`).
 */
export interface EventPayloads {
  'thread.started': {
    readonly agent: string
    /** The thread that started it; null for a root thread. */
    readonly parent: string | null
  }
  /** The agent is the one that took over. */
  'thread.updated': {
    readonly status?: ThreadStatus
    readonly agent?: string
    readonly title?: string | null
  }
  /** The thread said something of itself, by `sessionStatus` or `setStatus`. */
  'thread.status': Nothing
  'thread.closed': {
    readonly outcome: string
    readonly reason: StopReason
    /** How many messages were waiting: they are rejected. */
    readonly rejected: number
  }
  /** The thread was lost, and goes on. */
  'thread.reopened': Nothing
  'run.started': { readonly trigger: string }
  'run.completed': RunEnded
  'run.failed': RunEnded & { readonly error?: string }
  'run.cancelled': RunEnded
  'side.started': { readonly side: Side; readonly label?: string | null }
  'side.completed': { readonly side: Side; readonly reason: StopReason | null }
  'step.started': { readonly step: number; readonly prompt?: string; readonly model?: string }
  'step.completed': { readonly step: number; readonly reason: StopReason | null }
  'step.phase': { readonly phase: Phase; readonly name: string }
  /** How many items wait, at the time of the event. */
  'queue.changed': { readonly waiting: number }
  'context.resolved': ContextResolved
  'model.requested': { readonly model: string; readonly attempt: number }
  'model.completed': ModelCompleted
  'model.failed': ModelFailed
  'message.created': { readonly role: MessageRole }
  'message.updated': Nothing
  'message.deleted': Nothing
  'tool.started': { readonly name: string }
  'tool.result': ToolResultWritten
  'action.required': ActionRequiredWritten
  'action.resolved': ActionResolvedWritten
  'subagent.spawned': SubagentEvent
  'subagent.input': SubagentEvent
  'subagent.status': SubagentEvent
  'subagent.completed': SubagentEvent
  'subagent.failed': SubagentEvent
  'subagent.closed': SubagentEvent & { readonly status: string }
  'effect.scheduled': EffectEvent & {
    /** When it is due, in microseconds since 1970. */
    readonly time: number
  }
  'effect.completed': EffectEvent
  'effect.failed': EffectFailed
  'effect.removed': EffectEvent
  'hook.failed': HookFailed
  custom: { readonly name: string; readonly data: JsonValue }
  'runtime.warning': RuntimeWarning
}

export type EventType = keyof EventPayloads

type Nothing = Readonly<Record<string, never>>

/** What is read from other tables of the store when an event is delivered, by type. */
interface JoinedPayloads {
  'thread.status': {
    /** What the row of the thread says as the event is delivered. */
    readonly status: string | null
  }
  'message.created': JoinedMessage
  'message.updated': JoinedMessage
  'queue.changed': {
    /** The first 50 that the store has waiting as the event is delivered, in order. */
    readonly queue: readonly (QueuedItem & { readonly preview?: string })[]
  }
  'tool.started': Preview
  'tool.result': Preview & { readonly attachments: readonly AttachmentRef[] }
  'action.required': Preview & VariablesAsked
  /** Why it was denied, if that was said. */
  'action.resolved': { readonly reason: string | null }
  'subagent.spawned': NamedInstance
  'subagent.input': NamedInstance
  /** What the registry says as the event is delivered. */
  'subagent.status': NamedInstance & { readonly status?: string }
  'subagent.completed': NamedInstance
  'subagent.failed': NamedInstance
  'subagent.closed': NamedInstance
}

/** A text cut at 16 KiB: arguments as the model wrote them, or the text of a result. Null if there is none. */
interface Preview {
  readonly preview: string | null
  readonly truncated: boolean
}

interface NamedInstance {
  /** The instance's own name. */
  readonly threadName?: string
}

/** Of a request of `kind` `variables`: whose they are, the required ones, and those that are missing. */
interface VariablesAsked {
  readonly agent?: string
  readonly required?: readonly string[]
  readonly missing?: readonly string[]
}

interface ContextResolved {
  readonly messages: number
  readonly tools: number
  /** Of how many older messages the window has moved on. */
  readonly dropped?: number
  readonly estimatedTokens?: number
}

interface ModelCompleted {
  readonly model: string
  readonly attempt: number
  readonly usage: Usage
  readonly finishReason: string
  /** Parts whose metadata was too large to be kept and to go back: the next request lacks it. */
  readonly metadataLeftOut?: number
  readonly milliseconds: number
}

interface ModelFailed {
  readonly model: string
  readonly attempt: number
  readonly error: string
  /** What follows. */
  readonly next: 'retry' | 'fallback' | 'wait' | 'none' | (string & {})
  /** The store keeps the provider's words under this id; none of a request that was cut. */
  readonly errorId?: string
}

interface ToolResultWritten {
  readonly name: string
  readonly outcome: CallOutcome
  /** Of a result that is an error: its code, as the row of the call has it. */
  readonly errorCode: string | null
  /** Of a tool whose code has thrown: the store keeps the words and the stack under this id. */
  readonly errorId?: string
  /** The message of the call was removed, so its result has no row. */
  readonly erased?: true
}

interface ActionRequiredWritten {
  readonly requestId: string
  /** `approval`, `call` or `variables`; later versions add kinds. */
  readonly kind: string
  /** Null where no call waits for the answer. */
  readonly toolName: string | null
  readonly missing?: readonly string[]
}

interface ActionResolvedWritten {
  readonly requestId: string
  readonly kind: string
  /**
   * `supplied`: the variables are there now; `closed`: what asked has ended without an answer; `expired`: the variables of a
   * subagent did not come in time.
   */
  readonly decision: 'approved' | 'denied' | 'answered' | 'supplied' | 'closed' | 'expired' | (string & {})
  /** Who, as the caller said. */
  readonly by: string | null
}

interface SubagentEvent {
  readonly reference: string
  /** The name of its agent. */
  readonly name: string
  /** How its session ended, of `subagent.completed` and `subagent.failed`. */
  readonly reason?: StopReason
}

interface EffectEvent {
  readonly effectId: string
  readonly name: string
}

interface EffectFailed extends EffectEvent {
  /** `threw`, `timeout`, `missing`, `given_up`, …: later versions add codes. */
  readonly code: string
  /** The store keeps the words under this id. */
  readonly errorId: string
}

interface HookFailed {
  readonly hook: string
  /** Null: no worker has the hook. */
  readonly point: string | null
  /** `threw`, `timeout`, `invalid_answer`, `missing`, or `blocked`: it ended the run on purpose. */
  readonly code: string
  /** The store keeps the words under this id. */
  readonly errorId: string
}

interface RuntimeWarning {
  readonly code: string
  readonly message?: string
  readonly count?: number
}

/** The payload of an event as subscribers get it. */
type PayloadOf<Type extends EventType> = EventPayloads[Type] &
  (Type extends keyof JoinedPayloads ? JoinedPayloads[Type] : unknown)

/**
 * What `events()` gives, by `type`. Later versions add types and optional fields, and they are delivered as they are:
 * pass over what you do not know.
 */
export type ThreadEvent =
  | { [Type in EventType]: FactOf<Type, PayloadOf<Type>> }[EventType]
  | DeltaOf<'model.delta'>
  | DeltaOf<'reasoning.delta'>

/** One event of this type. */
export type ThreadEventOf<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { readonly type: Type }>
