/** What events about runs, requests to models, the queue, messages, files, subagents and effects say, and their codes. */
import type { StopReason, ThreadStatus, Usage } from '../status.js'

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
