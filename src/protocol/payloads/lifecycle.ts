/** What events about runs, requests to models, the queue, messages, files, subagents and effects say, and their codes. */
import type { StopReason, ThreadStatus, Usage } from '../status.js'

/** The creation of a thread. */
export interface ThreadStarted {
  /** The agent that the thread starts with. */
  readonly agent: string
  /** The id of the thread that started this one as its subagent; null for a root thread. */
  readonly parent: string | null
  /** For a fork: where its transcript comes from. Its log begins behind that transcript. The view `ar` has it as `history.rollback.completed`. */
  readonly forkedFrom?: ForkedFrom
}

/** The thread that a fork was made of. */
export interface ForkedFrom {
  /** The id of that thread, which may have been deleted since. */
  readonly threadId: string
  /** The last message that the fork has of it; null: it began with an empty transcript. */
  readonly messageId: string | null
}

/** How a run ended. */
export interface RunEnded {
  /** Why it ended. */
  readonly reason: StopReason
  /** The number of its steps. */
  readonly steps: number
  /** The tokens and the cost of the whole run. */
  readonly usage: Usage
  /** The thread's status from now on. */
  readonly status: ThreadStatus
}

/** A request to a model. */
export interface ModelRequest {
  /** The name of the model. */
  readonly model: string
  /** The number of the request in its step, from 1. */
  readonly attempt: number
}

/** The end of a message that never enters the transcript. */
export interface UndeliveredMessage {
  /** How it ended. */
  readonly end: UndeliveredEnd
  /** The id of the hook that refused it. */
  readonly hook?: string
}

/** How a message ends that never enters the transcript. */
export type UndeliveredEnd =
  /** The thread was closed first. */
  | 'rejected'
  /** A `before_create_message` hook failed or refused it. */
  | 'refused'
  /** It was taken back, or its text has reached the thread another way. */
  | 'removed'

/** A change of a file. */
export interface FileChange {
  /** The path in the thread. */
  readonly path: string
  /** What was done to it. */
  readonly change: FileChangeKind
  /** Bytes; 0 for a file that was deleted. */
  readonly size: number
  /** The version of its content: equal for equal bytes; null for a file that was deleted. */
  readonly version: string | null
}

/** What was done to a file. */
export type FileChangeKind =
  /** It was written where there was none. */
  | 'created'
  /** It was written in the place of another one. */
  | 'updated'
  /** It was deleted. */
  | 'deleted'

/** The failure of an activity. */
export interface RuntimeFailure {
  /** The type of the failure, which `docs/errors.md` explains. */
  readonly code: string
  /** The name of the activity. */
  readonly activity: string
  /** The id under which the store keeps the error text. */
  readonly errorId: string
}

/** What every event about a subagent says. */
export interface SubagentEvent {
  /** The id of the subagent's thread. */
  readonly reference: string
  /** The name of its agent. */
  readonly name: string
  /** Why its session ended; only for `subagent.completed` and `subagent.failed`. */
  readonly reason?: StopReason
}

/** What every event about an effect says. */
export interface EffectEvent {
  /** The id of the effect. */
  readonly effectId: string
  /** The name of the effect. */
  readonly name: string
}

/** The answer to a request. */
export interface ModelCompletion extends ModelRequest {
  /** The tokens and the cost of this request. */
  readonly usage: Usage
  /** Why the model ended its answer, as the provider names it. */
  readonly finishReason: string
  /** The number of parts whose metadata was too large to store; the next request does not contain it. */
  readonly metadataLeftOut?: number
  /** The time from the request to the last byte of its answer. */
  readonly milliseconds: number
  /** The id that the provider gave its answer, for its own log; left out if it gave none. */
  readonly responseId?: string
  /** The number of characters that the model thought before it answered; left out: none that it has shown. */
  readonly reasoningCharacters?: number
}
