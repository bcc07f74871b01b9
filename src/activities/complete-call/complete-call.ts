import type { CompleteCallAnswer, CompleteCallInput } from '../../protocol/activities.js'
import { whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { completeByChild } from './complete-by-child.js'
import { completeByFrame } from './complete-by-frame.js'
import { completeByResponse } from './complete-by-response.js'

/** A call that did not end with its own activity gets its result: from its child, its nested step, or from outside. */
export async function completeCall(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
): Promise<CompleteCallAnswer> {
  return whileBeating(async () => {
    const { by } = input
    switch (by.kind) {
      case 'child':
        return completeByChild(dependencies, input, by)
      case 'frame':
        return completeByFrame(dependencies, input, by.frame)
      case 'response':
        return completeByResponse(dependencies, input, by.requestId)
    }
  })
}
