import type { FailureCause } from '../../protocol/end-activities.js'
import type { StopReason } from '../../protocol/status.js'

/** Why work that left no answer ended its run. */
export const WITHOUT_ANSWER: Readonly<Record<FailureCause, string>> = {
  timed_out: 'its work could not be carried out for a day',
  failed: 'its work was failed for good, by an operator or by a worker that cannot do it',
  no_answer: 'its work was completed from outside with something that is no answer of it',
}

const WHY: Readonly<Record<string, string>> = {
  stop_on_response: 'it stopped without a call of its session tool',
  answer_cut: 'its last answer was cut off by its limit of length, without a call of its session tool',
  stop_tool: 'it stopped without a call of its session tool',
  session_stop: 'what its session tool gave is not there any more',
  session_fail: 'what its session tool gave is not there any more',
  max_steps: 'one of its sides reached its limit of steps',
  max_session_turns: 'it reached its limit of turns without a call of its session tool',
  hard_cap: 'it reached the limit of steps or turns of this runtime',
  repeated_tool_error: 'the same tool error came back again and again',
  hook_blocked: 'a hook kept it from its work, or its message was taken back',
  model_failed: 'its model could not answer',
  definition_missing: 'no worker has the definition of its agent',
  blocked: 'its work could not be carried out',
  stopped: 'it was interrupted',
  terminated: 'it was terminated',
}

/** What a parent reads of a session that ended without a payload; the reason itself is in it. */
export function withoutResult(reason: StopReason, failure?: FailureCause): string {
  const known = Object.hasOwn(WHY, reason) ? `: ${WHY[reason]}` : ''
  const why = failure === undefined ? known : `: ${WITHOUT_ANSWER[failure]}`
  return `The session ended without a result (${reason})${why}.`
}

/** What it reads of one that waits for variables. `env_required` is the code that callers look for. */
export function waitsForVariables(missing: readonly string[]): string {
  return `env_required: The subagent cannot go on, for these variables have no value: ${missing.join(', ')}. Once somebody has set them, it can be asked again.`
}
