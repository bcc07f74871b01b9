import type { CompleteCallAnswer, CompleteCallInput } from '../../protocol/complete-call.js'
import { whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { completeByChildren } from './complete-by-children.js'
import { completeByFrame } from './complete-by-frame.js'
import { completeByRemote } from './complete-by-remote.js'
import { completeByResponse } from './complete-by-response.js'
import { completeBySent } from './complete-by-sent.js'

/** A call that did not end with its own activity gets its result: from its children, its nested step, or from outside. */
export async function completeCall(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
): Promise<CompleteCallAnswer> {
  return whileBeating(async () => {
    const { by } = input
    switch (by.kind) {
      case 'children':
        return completeByChildren(dependencies, input, by)
      case 'sent':
        return completeBySent(dependencies, input, by)
      case 'frame':
        return completeByFrame(dependencies, input, by.frame)
      case 'remote':
        return completeByRemote(dependencies, input)
      case 'response':
        return completeByResponse(dependencies, input, by.requestId)
    }
  })
}
