/** The codes that events carry: writers use these only, and readers meet those that later versions add. */

/** What follows a failed request to a model. */
export type NextRequest =
  /** The same model is asked again. */
  | 'retry'
  /** The next model of the list is asked. */
  | 'fallback'
  /** The thread waits as long as the provider asked for. */
  | 'wait'
  /** No request follows. */
  | 'none'

/** How a request for an answer ended. */
export type ActionDecision =
  /** The call may run. */
  | 'approved'
  /** The call may not run. */
  | 'denied'
  /** The result came. */
  | 'answered'
  /** The variables are there. */
  | 'supplied'
  /** What asked for it ended without an answer. */
  | 'closed'
  /** The variables of a subagent did not come in time. */
  | 'expired'

/** Why an effect failed. */
export type EffectFailureCode =
  /** Its code threw. */
  | 'threw'
  /** Its code did not end in time. */
  | 'timeout'
  /** No worker has an effect of this name. */
  | 'definition_missing'
  /** It was stopped while it ran. */
  | 'interrupted'
  /** Its arguments do not fit its schema. */
  | 'invalid_arguments'
  /** It wrote a file that the store refuses. */
  | 'invalid_file'
  /** It asked for more operations than one answer holds. */
  | 'too_many_operations'
  /** Its activity failed for good. */
  | 'given_up'

/** Why a hook failed. */
export type HookFailureCode =
  /** Its code threw. */
  | 'threw'
  /** Its code did not end in time. */
  | 'timeout'
  /** It answered something that is no answer of its point. */
  | 'invalid_answer'
  /** No worker has a hook of this id. */
  | 'missing'
  /** It ended the run on purpose. */
  | 'blocked'

/** What was refused or skipped. */
export type WarningCode =
  /** An activity was completed from outside with something that is no answer of it. */
  | 'answer_refused'
  /** `needsApproval` threw or hung, so a person is asked. */
  | 'approval_check_failed'
  /** An effect was refused: as many are scheduled as a thread may have. */
  | 'effects_full'
  /** The thread had more facts than it keeps between two activities; `count` were dropped. */
  | 'facts_dropped'
  /** An immediate subagent was not started. */
  | 'immediate_skipped'
  /** A signal with a message was wrong; the sentence says in what. */
  | 'message_skipped'
  /** Tool calls did more than one answer holds, and their own answers were lost; `count` operations were dropped. */
  | 'operations_dropped'
  /** A signal with operations was wrong; the sentence says in what. */
  | 'operations_skipped'
  /** An item found no room in the queue and was refused. */
  | 'queue_full'
  /** A report of a subagent was wrong; the sentence says in what. */
  | 'report_skipped'
  /** A signal with variables was wrong; the sentence says in what. */
  | 'set_env_skipped'
  /** A signal has a name that this version does not know. */
  | 'signal_unknown'
  /** A signal to stop was wrong; the sentence says in what. */
  | 'stop_skipped'
  /** Too many outbound signals wait; one more was refused. */
  | 'outbound_full'
  /** What a tool did to another thread was dropped, because that thread was closed. */
  | 'thread_closed'
  /** A queued tool was skipped: its signal was wrong, the store does not have it, or its run could not begin. */
  | 'tool_skipped'
