import type { CallModelAnswer } from '../../protocol/activities.js'
import type { ThreadOperation } from '../../protocol/operations.js'

/** An answer with what hooks did to the thread, besides what it says already. */
export function withOperations<Answer extends CallModelAnswer>(
  answer: Answer,
  operations: readonly ThreadOperation[],
): Answer {
  if (operations.length === 0) return answer
  if (answer.type === 'terminated' || answer.type === 'moved') return answer
  if (answer.type === 'wait' || answer.type === 'refused') return answer
  const { operations: before = [] } = answer
  return { ...answer, operations: [...before, ...operations] }
}
