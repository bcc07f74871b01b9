/**
 * The event table: the only definition of the events and of their fields, for writers and for readers. A JSON Schema is made of it,
 * which the tests hold against every event, and a test fails for a type that nothing writes. A new key of `EventScope` needs its place in `src/store/event-rows.ts`.
 *
 * - `EventPayloads` has the stored payloads, by type: ids, registered names and numbers only (T5), except `custom`, and the paths of files.
 * - `JoinedPayloads` (`event-codes.ts`) has the fields that delivery adds from other tables.
 * - `OpenFields` names the lists of codes that later versions extend: writers may use only the listed codes.
 *
 * An event has four forms on its way, each with one name:
 *
 * 1. `Fact` (`facts.ts`): the event of a writer, made by `fact()`. A wrong payload or type does not compile.
 * 2. `StoredEvent` (`src/store/event-rows.ts`): a row of the log as it is read. Its type and payload are only known to be JSON,
 *    because a newer version may have written it.
 * 3. `JoinedFact`: a stored event with its joined fields, the same for all subscribers.
 * 4. `ThreadEvent`: the event of one subscriber: a joined fact with a cursor, a delta of streamed text, or a report of a running tool.
 *
 * `docs/generated/events.md` is made from this file by `npm run events`: every event and every field has a doc comment.
 */

import type {
  ActionDecision,
  ActionKind,
  BudgetFact,
  ContextManifest,
  EffectFailureCode,
  JoinedPayloads,
  NextRequest,
  PermissionOutcome,
  PermissionResolution,
  PermissionSource,
  RequestKind,
  Routing,
  TerminatedBy,
  WarningCode,
} from './event-codes.js'
import type { MessageRole } from './message.js'
import type {
  HookBeginning,
  HookCompletion,
  HookFailed,
  PolicyChange,
  ToolCatalog,
} from './payloads/governance.js'
import type { SessionUpdated } from './payloads/sessions.js'
import type { CompactionCompleted, CompactionFailed, CompactionStart } from './payloads/compaction.js'
import type { ArgsPayload, DeltaPayload, ProgressPayload } from './payloads/live-text.js'
import type { QueueChange } from './payloads/queue.js'
import type {
  EffectEvent,
  FileChange,
  ModelCompletion,
  ModelRequest,
  RunEnded,
  RuntimeFailure,
  SubagentEvent,
  ThreadStarted,
  UndeliveredMessage,
} from './payloads/lifecycle.js'
import type { Side } from './plan.js'
import type { ToolFailure } from './payloads/tool-failure.js'
import type { CallOutcome, StopReason, ThreadStatus } from './status.js'
import type { JsonValue } from './values.js'

/** The objects that an event is about; those that do not apply are absent. */
export interface EventScope {
  /** The run. */
  readonly runId?: string
  /** The step. */
  readonly stepId?: string
  /** The message. */
  readonly messageId?: string
  /** The tool call. */
  readonly toolCallId?: string
  /** The thread of the subagent. */
  readonly childId?: string
}

/** A step has seven phases: `PHASES` names them. */
export type Phase = 1 | 2 | 3 | 4 | 5 | 6 | 7

/** The stored payload of each event, by type. */
export interface EventPayloads {
  /** The thread was created. It is the first event of every thread. */
  'thread.started': ThreadStarted
  /** Another agent took over the thread. */
  'thread.updated': {
    /** The thread's status from now on. */
    readonly status?: ThreadStatus
    /** The agent that took over. */
    readonly agent?: string
  }
  /** The thread described what it is doing, by `sessionStatus` or `setStatus`. */
  'thread.status': Nothing
  /** The end of the thread was asked for: nothing of it begins any more, and `thread.closed` follows. */
  'thread.terminating': {
    /** Who asked for it. */
    readonly by: TerminatedBy
  }
  /** The thread ended and accepts no more messages. */
  'thread.closed': {
    /** How it ended: `completed`, `failed` or `terminated`. */
    readonly outcome: string
    /** Why its last run ended, or `terminated`. */
    readonly reason: StopReason
    /** The number of pending messages, which are rejected. */
    readonly rejected: number
  }
  /** The thread had lost its workflow, and continues with a new one. The view `ar` has it as `history.reconstructed` and `snapshot.repaired`. */
  'thread.reopened': Nothing
  /** The thread is the root of a session, whose id it has. It follows `thread.started` of every thread without a parent. */
  'session.created': Nothing
  /** A person or a program changed the session. It is an event of its root thread, until that is closed. */
  'session.updated': SessionUpdated
  /** A run began: the thread works until nothing is left to do. */
  'run.started': {
    /** The trigger of the run, such as `message`. */
    readonly trigger: string
  }
  /** A run ended successfully. */
  'run.completed': RunEnded
  /** A run ended with a failure, or is blocked. */
  'run.failed': RunEnded & {
    /** A sentence about a missing definition, if that is the reason. */
    readonly error?: string
  }
  /** A run was stopped or terminated. */
  'run.cancelled': RunEnded
  /** A side began its turn. */
  'side.started': {
    /** The side whose turn it is. */
    readonly side: Side
    /** The name that the agent's definition gives this side; null if it gives none. */
    readonly label?: string | null
  }
  /** A side's turn ended. */
  'side.completed': {
    /** The side whose turn it was. */
    readonly side: Side
    /** Why the turn ended; null if no stop condition ended it. */
    readonly reason: StopReason | null
  }
  /** A step began: one request to the model with all that follows from its answer. */
  'step.started': {
    /** The number of the step in its run, from 1. */
    readonly step: number
    /** The name of the prompt that the step uses. */
    readonly prompt?: string
    /** The name of the model that the step calls. */
    readonly model?: string
  }
  /** A step ended. */
  'step.completed': {
    /** The number of the step in its run, from 1. */
    readonly step: number
    /** Why no step follows; null if one does. */
    readonly reason: StopReason | null
  }
  /** A step reached a phase. Every step marks all seven phases in order, including those with nothing to do. */
  'step.phase': {
    /** The number of the phase, 1 to 7. */
    readonly phase: Phase
    /** The name of the phase, such as `call_model`. */
    readonly name: string
  }
  /** Items joined the queue, left it or were moved. Changes of a moment may be one event, with all ids. */
  'queue.changed': QueueChange
  /** Which tools are offered. It stands once in a run, before the request of its first step. Later steps may offer others, by their prompt and variables: `context.resolved` counts them. */
  'tool.catalog.resolved': ToolCatalog
  /** The request to the model is assembled. It stands before each `model.requested`, also when a request is repeated. */
  'context.resolved': ContextManifest
  /** A context with `compaction` is being made shorter, before the request that would be too long. */
  'context.compaction.started': CompactionStart
  /** The context is shorter; the transcript is as it was. */
  'context.compaction.completed': CompactionCompleted
  /** There is no summary; the messages are left out all the same, so that the thread goes on. */
  'context.compaction.failed': CompactionFailed
  /** A request was sent to a model. */
  'model.requested': ModelRequest & {
    /** Why it was sent to this model. */
    readonly routing: Routing
  }
  /** No model is left that could answer; the run fails, or the prompt that is called as a tool. */
  'model.unavailable': {
    /** The models, and why none is called. */
    readonly routing: Routing
  }
  /** A model answered. */
  'model.completed': ModelCompletion
  /** A request to a model failed or was interrupted. */
  'model.failed': ModelRequest & {
    /** The kind of failure. */
    readonly error: string
    /** The action after the failure. */
    readonly next: NextRequest
    /** The id under which the store keeps the provider's error text; absent if the request was interrupted. */
    readonly errorId?: string
  }
  /** A message has its place in the transcript. It replaces the deltas of its `messageId`. */
  'message.created': {
    /** The role of the message. */
    readonly role: MessageRole
  }
  /** A message of the transcript was changed. */
  'message.updated': Nothing
  /** A message was removed from the transcript. */
  'message.deleted': Nothing
  /** An accepted message will never be in the transcript. The end of all others is their `message.created`. */
  'message.ended': UndeliveredMessage
  /** A file of the thread was written or deleted. */
  'file.changed': FileChange
  /** Variables of the thread have new values, which no event has. */
  'variables.changed': {
    /** Their names. */
    readonly names: readonly string[]
  }
  /** It was decided whether a call may run, because a rule, the mode, the tool or the policy function says something about it. */
  'permission.evaluated': {
    /** The name that was called. */
    readonly toolName: string
    /** The kind of the call. */
    readonly action: ActionKind
    /** What was decided. */
    readonly decision: PermissionOutcome
    /** What decided it. */
    readonly source: PermissionSource
    /** The id of the hook, if a hook decided it. */
    readonly hook?: string
    /** The rules that demanded it, each as `source:rule`. */
    readonly rules?: readonly string[]
  }
  /** A person is asked whether a call may run; `action.required` says so for requests of all kinds. */
  'permission.requested': {
    /** The id to answer with. */
    readonly requestId: string
    /** When it is denied if nobody has answered, in microseconds since 1970. */
    readonly expiresAt?: number
  }
  /** A request for an approval ended; `action.resolved` says so for requests of all kinds. */
  'permission.resolved': {
    /** The id of the request. */
    readonly requestId: string
    /** How it ended. */
    readonly resolution: PermissionResolution
    /** Who answered; null: nobody did, or they named nobody. */
    readonly by: string | null
    /** True: the person gave other arguments. */
    readonly changed?: true
  }
  /** The rules or remembered approvals of the run or thread have changed. Those of accounts, users, agents and workers are read when a call begins, and are no event of a thread. */
  'policy.changed': PolicyChange
  /** Of a limit of a budget so much is used that it is worth a warning. It comes once. */
  'budget.warning': BudgetFact
  /** A call does not fit into a budget, and does not begin. */
  'budget.exceeded': BudgetFact & {
    /** The request by which a person is asked to raise the limit; left out: the run ends. */
    readonly requestId?: string
    /** The model whose cost is not known, so that a limit of the cost cannot hold. */
    readonly unpriced?: string
  }
  /** A person has raised a limit of a budget, and the run goes on. */
  'budget.raised': {
    /** The request that was answered. */
    readonly requestId: string
    /** Who raised it; null: they named nobody. */
    readonly by: string | null
  }
  /** The account of the thread has used up a limit, and the run waits: `model.requested` or `tool.started` follows when it goes on. */
  'limit.changed': {
    /** The limit, as `rateLimits` names it: `tokensPerMinute` or `toolCallsPerMinute`. */
    readonly limit: string
    /** What became of the limit: it is used up. */
    readonly state: 'exhausted'
    /** When the run tries again, in microseconds since 1970. */
    readonly until: number
  }
  /** A tool call began. */
  'tool.started': {
    /** The name of the tool. */
    readonly name: string
  }
  /** A tool call ended. */
  'tool.result': {
    /** The name of the tool. */
    readonly name: string
    /** The outcome of the call; `unknown` is an interrupted call that may have taken effect. */
    readonly outcome: CallOutcome
    /** The code of a result that is an error, as the row of the call has it; else null. */
    readonly errorCode: string | null
    /** The failure that the call met, also one that was overcome; left out: there was none. */
    readonly failure?: ToolFailure
    /** The id under which the store keeps the message and the stack, if the code of the tool threw. */
    readonly errorId?: string
    /** True if the message of the call was removed, so that its result has no row. */
    readonly erased?: true
  }
  /** The thread needs an answer from outside: a person's decision, a result, or variables. */
  'action.required': {
    /** The id to answer with. */
    readonly requestId: string
    /** The kind of answer that is needed. */
    readonly kind: RequestKind
    /** The tool whose call waits for the answer; null if none does. */
    readonly toolName: string | null
    /** The names of the variables that are missing; only for `variables`. */
    readonly missing?: readonly string[]
  }
  /** A request for an answer is over. */
  'action.resolved': {
    /** The id of the request. */
    readonly requestId: string
    /** The kind of answer that was needed. */
    readonly kind: RequestKind
    /** How the request ended. */
    readonly decision: ActionDecision
    /** The name of the person who decided, if the caller gave it; else null. */
    readonly by: string | null
  }
  /** A subagent was created. */
  'subagent.spawned': SubagentEvent
  /** A message was sent to a subagent. */
  'subagent.input': SubagentEvent
  /** A subagent described what it is doing. */
  'subagent.status': SubagentEvent
  /** A subagent delivered a result. */
  'subagent.completed': SubagentEvent
  /** A subagent delivered a failure, or never started. */
  'subagent.failed': SubagentEvent
  /** A subagent closed without a report that this thread waits for. */
  'subagent.closed': SubagentEvent & {
    /** How it closed, as the registry has it: as Temporal or the store names it, such as `terminated`. */
    readonly status: string
  }
  /** An effect was scheduled. */
  'effect.scheduled': EffectEvent & {
    /** The time at which it is due, in microseconds since 1970. */
    readonly time: number
  }
  /** A scheduled effect ran. */
  'effect.completed': EffectEvent
  /** A scheduled effect ran and failed, or was given up. */
  'effect.failed': EffectEvent & {
    /** Why it failed. */
    readonly code: EffectFailureCode
    /** The id under which the store keeps the error text. */
    readonly errorId: string
  }
  /** A scheduled effect was removed before it ran, or its thread closed. */
  'effect.removed': EffectEvent
  /** A hook began. The ids of the event say what it is about; it is stored with the end of the hook. */
  'hook.started': HookBeginning
  /** A hook gave its answer. */
  'hook.completed': HookCompletion
  /** A hook failed, or ended the run on purpose. */
  'hook.failed': HookFailed
  /** The code of a tool, hook or effect emitted an event of its own. */
  custom: {
    /** The name that the code gave it. */
    readonly name: string
    /** The JSON value that the code gave it. */
    readonly data: JsonValue
  }
  /** An activity of the thread failed; Temporal tries it again, unless the code says otherwise. */
  'runtime.error': RuntimeFailure
  /** The runtime refused or skipped something. The thread continues. */
  'runtime.warning': {
    /** Why the runtime refused or skipped something. */
    readonly code: WarningCode
    /** A sentence for operators, without content of the conversation. */
    readonly message?: string
    /** The number of things that were dropped, for codes that count them. */
    readonly count?: number
  }
}

export type EventType = keyof EventPayloads

/** The payload is empty. */
type Nothing = Readonly<Record<string, never>>

/** The fields whose codes later versions extend; readers get them as open lists. */
interface OpenFields {
  'model.failed': 'next'
  'budget.warning': 'scope' | 'period' | 'limit'
  'budget.exceeded': 'scope' | 'period' | 'limit'
  'permission.evaluated': 'decision' | 'source'
  'permission.resolved': 'resolution'
  'policy.changed': 'change' | 'subject'
  'action.required': 'kind'
  'action.resolved': 'kind' | 'decision'
  'effect.failed': 'code'
  'hook.completed': 'decision' | 'status'
  'hook.failed': 'code' | 'fails'
  'limit.changed': 'state'
  'message.ended': 'end'
  'file.changed': 'change'
  'thread.terminating': 'by'
  'runtime.warning': 'code'
}

/** A written payload, with its lists of codes open. */
type WrittenPayload<Type extends EventType> = {
  [Field in keyof EventPayloads[Type]]: Type extends keyof OpenFields
    ? Field extends OpenFields[Type]
      ? EventPayloads[Type][Field] | (string & {})
      : EventPayloads[Type][Field]
    : EventPayloads[Type][Field]
}

/** The payload of an event as subscribers get it. */
type PayloadOf<Type extends EventType> = Type extends keyof JoinedPayloads
  ? EventPayloads[Type] extends Nothing
    ? JoinedPayloads[Type]
    : WrittenPayload<Type> & JoinedPayloads[Type]
  : WrittenPayload<Type>

/** The version of the envelope; it grows when a field gets another meaning. */
export const SCHEMA_VERSION = 1

/** The fields of every event, except its cursor. */
interface Envelope extends EventScope {
  /** The time of the event, in ISO 8601. */
  readonly timestamp: string
  /** The version of this envelope; it grows when a field gets another meaning. */
  readonly schemaVersion: number
  /** The thread. */
  readonly threadId: string
  /** The session: a tree of threads has the id of its root thread. */
  readonly sessionId: string
  /** The installation: all processes of a store have its id, also after a restart. */
  readonly runtimeId: string
}

/** The fields of every fact of the event log. */
interface FactEnvelope extends Envelope {
  /** The number of the event in its thread, from 1, without gaps. Deltas have none. */
  readonly sequence: number
  /** An id that is unique in the store. Deltas have none. */
  readonly eventId: string
  /** The trace in which it was written, 32 hex digits; left out where no telemetry is collected. */
  readonly traceId?: string
  /** The span in which it was written, 16 hex digits; with `traceId` only. */
  readonly spanId?: string
}

interface WithCursor {
  /**
   * The position of a subscriber after this event: `events({ after: cursor })` continues here, even in the middle of a
   * text. The cursor is opaque ASCII text; two subscribers may have different cursors at the same event.
   */
  readonly cursor: string
}

interface JoinedFactOf<Type extends EventType> extends FactEnvelope {
  readonly type: Type
  readonly payload: PayloadOf<Type>
}

/** A fact as all subscribers get it, without its cursor, which differs between subscribers. */
export type JoinedFact = { [Type in EventType]: JoinedFactOf<Type> }[EventType]

/** What is seen while it happens. It is no fact, so it has no sequence. */
interface LiveOf<Type extends string, Payload> extends Envelope, WithCursor {
  readonly sequence?: undefined
  readonly eventId?: undefined
  readonly type: Type
  readonly payload: Payload
}

/** Text while a model streams it; `message.created` replaces it. */
interface DeltaOf<Type extends string> extends LiveOf<Type, DeltaPayload> {
  readonly messageId: string
}

/** Arguments of a call while a model writes them; `message.created` replaces them. The call has the id from then on, if it is stored. */
interface ArgsOf extends LiveOf<'tool.args', ArgsPayload> {
  readonly messageId: string
  readonly toolCallId: string
}

/** What a tool reports while its call runs; `tool.result` or `action.required` of the call replaces it. */
interface ReportOf<Type extends string, Payload> extends LiveOf<Type, Payload> {
  readonly toolCallId: string
}

/**
 * An event of `events()`, by `type`. Later versions add types and optional fields, which are delivered unchanged:
 * ignore those that you do not know.
 */
export type ThreadEvent =
  | { [Type in EventType]: JoinedFactOf<Type> & WithCursor }[EventType]
  | DeltaOf<'model.delta'>
  | DeltaOf<'reasoning.delta'>
  | ArgsOf
  | ReportOf<'tool.output', DeltaPayload>
  | ReportOf<'tool.progress', ProgressPayload>

/** One event of this type. */
export type ThreadEventOf<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { readonly type: Type }>
