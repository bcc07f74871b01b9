import type {
  CallModelAnswer,
  EndAnswer,
  ExecuteToolAnswer,
  RunEffectAnswer,
} from '../../protocol/activities.js'
import type { PrepareChildAnswer, PrepareMessageAnswer } from '../../protocol/child-activities.js'
import type { CompleteCallAnswer } from '../../protocol/complete-call.js'
import type { DeliverReportAnswer } from '../../protocol/end-activities.js'

/** What one of our activities answers. */
export type ObservedAnswer =
  | CallModelAnswer
  | ExecuteToolAnswer
  | CompleteCallAnswer
  | PrepareChildAnswer
  | PrepareMessageAnswer
  | DeliverReportAnswer
  | RunEffectAnswer

/** Why an answer is no success, by a word of ours; null if it is one. */
export function activityProblem(answer: ObservedAnswer): string | null {
  switch (answer.type) {
    case 'result':
      return answer.outcome === 'succeeded' ? null : answer.outcome
    case 'refused':
      return answer.result.outcome === 'succeeded' ? null : answer.result.outcome
    case 'end':
      return endProblem(answer)
    case 'interrupted':
    case 'terminated':
    case 'parent_gone':
      return answer.type
    default:
      return null
  }
}

function endProblem({ outcome, reason }: EndAnswer): string | null {
  return outcome === 'completed' ? null : reason
}
