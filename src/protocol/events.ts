import type { CallOutcome, Usage } from './activities.js'
import type { EventScope, Phase } from './facts.js'
import type { AttachmentRef, Message } from './message.js'
import type { Side } from './plan.js'
import type { StopReason, ThreadStatus } from './status.js'

/** What every fact of the event log carries. */
interface FactEnvelope extends EventScope {
  /** Per thread, from 1, without gaps. */
  readonly sequence: number
  /** Unique in the store. */
  readonly eventId: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly schemaVersion: number
  readonly threadId: string
}

/** Text while it streams: no fact, so it has no sequence, and `message.created` replaces it. */
interface DeltaEnvelope extends EventScope {
  readonly sequence?: undefined
  readonly eventId?: undefined
  readonly timestamp: string
  readonly schemaVersion: number
  readonly threadId: string
  readonly messageId: string
}

type FactOf<Type extends string, Payload> = FactEnvelope & { readonly type: Type; readonly payload: Payload }
type DeltaOf<Type extends string> = DeltaEnvelope & { readonly type: Type; readonly payload: DeltaPayload }

/** The first delta after a (re)connect holds all text so far. A higher attempt means: drop what was shown before. */
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
}

/**
 * What `events()` gives, by `type`. Later versions add types and optional fields, and they are delivered as they are:
 * pass over what you do not know.
 */
export type ThreadEvent =
  | FactOf<'thread.started', { readonly agent: string; readonly parent: string | null }>
  | FactOf<
      'thread.updated',
      { readonly status: ThreadStatus; readonly agent?: string; readonly title?: string | null }
    >
  | FactOf<
      'thread.closed',
      { readonly outcome: string; readonly reason: StopReason; readonly rejected: number }
    >
  | FactOf<'run.started', { readonly trigger: string }>
  | FactOf<'run.completed', RunEnded>
  | FactOf<'run.failed', RunEnded & { readonly error?: string }>
  | FactOf<'run.cancelled', RunEnded>
  | FactOf<'side.started', { readonly side: Side; readonly label?: string | null }>
  | FactOf<'side.completed', { readonly side: Side; readonly reason: StopReason | null }>
  | FactOf<'step.started', { readonly step: number; readonly prompt?: string; readonly model?: string }>
  | FactOf<'step.completed', { readonly step: number; readonly reason: StopReason | null }>
  | FactOf<'step.phase', { readonly phase: Phase; readonly name: string }>
  | FactOf<'queue.changed', { readonly waiting: number }>
  | FactOf<'context.resolved', ContextResolved>
  | FactOf<'model.requested', { readonly model: string; readonly attempt: number }>
  | FactOf<'model.completed', ModelCompleted>
  | FactOf<'model.failed', ModelFailed>
  | DeltaOf<'model.delta'>
  | DeltaOf<'reasoning.delta'>
  | FactOf<'message.created', JoinedMessage>
  | FactOf<'tool.started', ToolStarted>
  | FactOf<'tool.result', ToolEnded>
  | FactOf<
      'subagent.spawned' | 'subagent.input' | 'subagent.completed' | 'subagent.failed' | 'subagent.closed',
      SubagentEvent
    >
  | FactOf<
      'runtime.warning' | 'runtime.error',
      { readonly code: string; readonly message?: string; readonly count?: number }
    >

interface ContextResolved {
  readonly messages: number
  readonly tools: number
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
  /** What follows: `retry`, `fallback` or `none`. */
  readonly next: string
}

interface SubagentEvent {
  readonly reference: string
  readonly name: string
}

/** One event of this type. */
export type ThreadEventOf<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { readonly type: Type }>
