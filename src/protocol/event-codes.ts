/** The codes of events. Writers use only these; readers may also get codes that later versions add. */

/** The action after a failed request to a model. */
export type NextRequest =
  /** The same model is called again. */
  | 'retry'
  /** The next model of the list is called. */
  | 'fallback'
  /** The thread waits for the time that the provider requested. */
  | 'wait'
  /** No request follows. */
  | 'none'

/** What was decided about a call. */
export type PermissionOutcome =
  /** It may run. */
  | 'allowed'
  /** It must not run. */
  | 'denied'
  /** A person decides. */
  | 'asked'

/** What decided about a call. */
export type PermissionSource =
  /** A rule of the worker. */
  | 'worker'
  /** A rule of the agent. */
  | 'agent'
  /** A rule of the thread's account. */
  | 'account'
  /** A rule of the thread's user. */
  | 'user'
  /** A rule of the thread. */
  | 'thread'
  /** A rule of the run, which came with a message. */
  | 'run'
  /** `needsApproval` of the tool. */
  | 'tool'
  /** The mode of the thread or the worker. */
  | 'mode'
  /** The policy function of the worker. */
  | 'policy'
  /** An approval that a person wanted remembered. */
  | 'grant'
  /** The call needs an approval, and in this thread nobody can be asked. */
  | 'not_interactive'

/** How a request for an approval ended. */
export type PermissionResolution =
  /** A person allowed the call. */
  | 'allowed'
  /** A person did not allow the call, or answered in its place. */
  | 'denied'
  /** Nobody answered in time. */
  | 'timed_out'
  /** The call or its run ended first. */
  | 'cancelled'

/** How a request for an answer ended. */
export type ActionDecision =
  /** The call may run. */
  | 'approved'
  /** The call may not run. */
  | 'denied'
  /** The result arrived. */
  | 'answered'
  /** The variables have values. */
  | 'supplied'
  /** The call or run that needed the answer ended without it. */
  | 'closed'
  /** Nobody approved in time, or the variables of a subagent did not arrive in time. */
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
  /** It requested more operations than one answer can hold. */
  | 'too_many_operations'
  /** Its activity failed for good. */
  | 'given_up'

/** Why a hook failed. */
export type HookFailureCode =
  /** Its code threw. */
  | 'threw'
  /** Its code did not end in time. */
  | 'timeout'
  /** Its result is not valid for its point. */
  | 'invalid_answer'
  /** No worker has a hook of this id. */
  | 'missing'
  /** It ended the run on purpose. */
  | 'blocked'

/** Why the runtime refused or skipped something. */
export type WarningCode =
  /** An activity was completed from outside with an invalid answer. */
  | 'answer_refused'
  /** An activity that went on by itself answered with something that is not what the thread does next. */
  | 'ahead_dropped'
  /** `needsApproval` threw or hung, so a person decides. */
  | 'approval_check_failed'
  /** The preview of a call threw, hung or was no preview, so the call was denied. */
  | 'preview_failed'
  /** The policy function of the worker threw, hung or gave a wrong answer, so the call was denied. */
  | 'policy_failed'
  /** An effect was refused, because the thread has as many scheduled effects as it may have. */
  | 'effects_full'
  /** The thread had more facts than it keeps between two activities; `count` were dropped. */
  | 'facts_dropped'
  /** An immediate subagent was not started. */
  | 'immediate_skipped'
  /** A signal with an invalid message was skipped; `message` names the problem. */
  | 'message_skipped'
  /**
   * The answers of tool calls were lost, and their operations did not fit into one answer; `count` operations were
   * dropped.
   */
  | 'operations_dropped'
  /** A signal with invalid operations was skipped; `message` names the problem. */
  | 'operations_skipped'
  /** An item was refused, because the queue is full. */
  | 'queue_full'
  /** An invalid report of a subagent was skipped; `message` names the problem. */
  | 'report_skipped'
  /** An invalid signal with variables was skipped; `message` names the problem. */
  | 'set_env_skipped'
  /** A signal with an unknown name was skipped. */
  | 'signal_unknown'
  /** An invalid signal to stop was skipped; `message` names the problem. */
  | 'stop_skipped'
  /** An outbound signal was refused, because too many are pending. */
  | 'outbound_full'
  /** The writes of a tool to another thread were dropped, because that thread was closed. */
  | 'thread_closed'
  /** A queued tool was skipped: its signal was invalid, the store does not have it, or its run could not begin. */
  | 'tool_skipped'
