/** The payloads of the events about compactions of a context. */

/** What starts a compaction. */
export type CompactionTrigger =
  /** The window has reached its threshold. */
  | 'threshold'
  /** A provider has refused the request as too long. */
  | 'context_length'
  /** `thread.compact` asked for it. */
  | 'command'

/** The messages that a compaction leaves out of the context. */
export interface AffectedMessages {
  /** Their number. */
  readonly messages: number
  /** The position of the first one; null: there is none. */
  readonly from: number | null
  /** The position of the last one. */
  readonly to: number | null
  /** The number of the first run whose messages are among them. */
  readonly firstRun: number | null
  /** The number of the last one. */
  readonly lastRun: number | null
}

/** A compaction, by what it is about. */
export interface CompactionStart {
  /** The side whose context it is. */
  readonly side: 'a' | 'b'
  /** What starts it. */
  readonly trigger: CompactionTrigger
  /** What it leaves out. */
  readonly affected: AffectedMessages
}

/** Where the conversation goes on after a compaction. */
export interface CompactionEnd extends CompactionStart {
  /** Its operation; of cleared results the model call. */
  readonly operation: string
  /** The position of the first message that stays; 0: all stay. */
  readonly position: number
  /** The id of the first message that stays; null: none does. */
  readonly next: string | null
  /** The estimated tokens of the request before it. */
  readonly tokensBefore: number
  /** The estimated tokens of the messages and settings that stay, without the summary. */
  readonly tokensAfter: number
}

/** How the context was made shorter. */
export type CompactionStage =
  /** Old results of tools are cleared, and no message is left out. */
  | 'cleared'
  /** The messages are left out, and a summary stands for them. */
  | 'summarized'
  /** The messages are left out without a summary, as the prompt says. */
  | 'cut'
  /** There was nothing to leave out. */
  | 'nothing'

/** Why there is no summary. */
export type CompactionFailure =
  /** No model gave an answer, or no worker has the model. */
  | 'model_failed'
  /** The summary was empty. */
  | 'empty'
  /** The summary had more than 16 KB. */
  | 'too_long'
  /** No budget allows the request. */
  | 'no_budget'
  /** A person has stopped the run meanwhile. */
  | 'stopped'
  /** A message came while the thread was idle, and does not wait: nothing is left out, and the next step compacts. */
  | 'message_came'

/** A context is shorter. */
export interface CompactionCompleted extends CompactionEnd {
  /** How it was made shorter. */
  readonly stage: CompactionStage
  /** The first 200 characters of the summary; left out: there is none. */
  readonly summaryPreview?: string
}

/** A context is shorter, without a summary; with the code `message_came` it stays as it is, and this is what was planned. */
export interface CompactionFailed extends CompactionEnd {
  /** Why there is none. */
  readonly code: CompactionFailure
}

/** The messages of a request: all of the transcript from the first to the last. */
export interface ContextRefs {
  /** The id of the first message; null: there is none. */
  readonly first: string | null
  /** The id of the last message. */
  readonly last: string | null
  /** The id of the message that began the run, if it stands before the first one. */
  readonly opening?: string
  /** The position of the boundary, as `thread.boundaries()` has it. */
  readonly boundary: number
}

/** A part of the conversation that a request does not have as it is. */
export interface ContextOmission {
  /** `older_messages` are left out, `summarized_messages` are told by a summary; `cleared_results` and `clipped_results` are shorter. */
  readonly kind: 'older_messages' | 'summarized_messages' | 'cleared_results' | 'clipped_results'
  /** It ends before this position of the transcript for messages, and with it for results. */
  readonly position: number
  /** The number of messages; left out for results. */
  readonly count?: number
}
