import type { CallOutcome, Usage } from './activities.js'
import type { EventScope, Phase } from './facts.js'
import type { JsonValue } from './json.js'
import type { AttachmentRef, Message } from './message.js'
import type { Side } from './plan.js'
import type { QueuedItem } from './snapshot.js'
import type { StopReason, ThreadStatus } from './status.js'

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

/** A tool call as it starts: `preview` is its arguments as the model wrote them, cut at 16 KiB. */
export interface ToolStarted {
  readonly name: string
  readonly preview: string | null
  readonly truncated: boolean
}

/** A tool call's result: `preview` is its text, cut at 16 KiB; the row of `messageId` has all of it. */
export interface ToolEnded extends ToolStarted {
  readonly outcome: CallOutcome
  readonly attachments: readonly AttachmentRef[]
  /** Of a tool whose code has thrown: the store keeps the words and the stack under this id. */
  readonly errorId?: string
}

/**
 * What `events()` gives, by `type`. Later versions add types and optional fields, and they are delivered as they are:
 * pass over what you do not know.
 */
export type ThreadEvent =
  | FactOf<'thread.started', { readonly agent: string; readonly parent: string | null }>
  | FactOf<'thread.updated', ThreadUpdated>
  | FactOf<
      'thread.closed',
      { readonly outcome: string; readonly reason: StopReason; readonly rejected: number }
    >
  /** It was lost, and goes on. */
  | FactOf<'thread.reopened', Readonly<Record<string, never>>>
  | FactOf<'run.started', { readonly trigger: string }>
  | FactOf<'run.completed', RunEnded>
  | FactOf<'run.failed', RunEnded & { readonly error?: string }>
  | FactOf<'run.cancelled', RunEnded>
  | FactOf<'side.started', { readonly side: Side; readonly label?: string | null }>
  | FactOf<'side.completed', { readonly side: Side; readonly reason: StopReason | null }>
  | FactOf<'step.started', { readonly step: number; readonly prompt?: string; readonly model?: string }>
  | FactOf<'step.completed', { readonly step: number; readonly reason: StopReason | null }>
  | FactOf<'step.phase', { readonly phase: Phase; readonly name: string }>
  | FactOf<'queue.changed', QueueChanged>
  | FactOf<'context.resolved', ContextResolved>
  | FactOf<'model.requested', { readonly model: string; readonly attempt: number }>
  | FactOf<'model.completed', ModelCompleted>
  | FactOf<'model.failed', ModelFailed>
  | DeltaOf<'model.delta'>
  | DeltaOf<'reasoning.delta'>
  | FactOf<'message.created', JoinedMessage>
  | FactOf<'message.updated', JoinedMessage>
  | FactOf<'message.deleted', Readonly<Record<string, never>>>
  | FactOf<'tool.started', ToolStarted>
  | FactOf<'tool.result', ToolEnded>
  | FactOf<'action.required', ActionRequired>
  | FactOf<'action.resolved', ActionResolved>
  | FactOf<
      | 'subagent.spawned'
      | 'subagent.input'
      | 'subagent.status'
      | 'subagent.completed'
      | 'subagent.failed'
      | 'subagent.closed',
      SubagentEvent
    >
  | FactOf<'effect.scheduled' | 'effect.completed' | 'effect.failed' | 'effect.removed', EffectEvent>
  | FactOf<'hook.failed', HookFailedEvent>
  | FactOf<'custom', { readonly name: string; readonly data: JsonValue }>
  | FactOf<
      'runtime.warning' | 'runtime.error',
      { readonly code: string; readonly message?: string; readonly count?: number }
    >

interface ThreadUpdated {
  readonly status?: ThreadStatus
  /** The one that took over. */
  readonly agent?: string
  readonly title?: string | null
}

interface QueueChanged {
  /** At the time of the event. */
  readonly waiting: number
  /** The first 50 that the store has waiting as the event is delivered, in order. */
  readonly queue: readonly (QueuedItem & { readonly preview?: string })[]
}

/** Somebody has to answer, by `respond(requestId, …)`; `preview` is the call's arguments, cut at 16 KiB. */
interface ActionRequired {
  readonly requestId: string
  /** `approval`, `call` or `variables`; later versions add kinds. */
  readonly kind: string
  /** Null where no call waits for the answer. */
  readonly toolName: string | null
  readonly preview: string | null
  readonly truncated: boolean
  /** Of `variables`: whose they are, the required ones, and those that are missing. */
  readonly agent?: string
  readonly required?: readonly string[]
  readonly missing?: readonly string[]
}

interface ActionResolved {
  readonly requestId: string
  readonly kind: string
  /** `supplied`: the variables are there now; `closed`: what asked has ended without an answer. */
  readonly decision: 'approved' | 'denied' | 'answered' | 'supplied' | 'closed' | (string & {})
  /** Who, as the caller said. */
  readonly by: string | null
  /** Of a denial. */
  readonly reason: string | null
}

interface EffectEvent {
  readonly effectId: string
  readonly name: string
  /** When it is due, in microseconds since 1970. */
  readonly time?: number
  /** Of a failed one: the store keeps the words under this id. */
  readonly errorId?: string
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

interface SubagentEvent {
  readonly reference: string
  readonly name: string
  /** The instance's own name. */
  readonly threadName?: string
  /** How its session ended, of `subagent.completed` and `subagent.failed`. */
  readonly reason?: StopReason
  /** Of `subagent.status`: what the registry says as the event is delivered; of `subagent.closed`: how it ended. */
  readonly status?: string
}

interface HookFailedEvent {
  readonly hook: string
  /** Null: no worker has the hook. */
  readonly point: string | null
  /** `threw`, `timeout`, `invalid_answer`, `missing`, or `blocked`: it ended the run on purpose. */
  readonly code: string
  /** The store keeps the words under this id. */
  readonly errorId: string
}

/** One event of this type. */
export type ThreadEventOf<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { readonly type: Type }>
