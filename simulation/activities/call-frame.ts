import type { CallModelAnswer, CallModelInput, Frame } from '../../src/protocol/activities.js'
import { modelOperationId, nestedCallIdOf } from '../../src/protocol/ids.js'
import { say } from '../store/messages.js'
import { chosenCalls, chosenOperations, USAGE } from './choices.js'
import { commitResult, enterCall } from './hold-call.js'
import { commit, Cut, hold, recorded } from './steps.js'
import type { Attempt, Steps } from './steps.js'

/** The nested step of a prompt tool: the call that it answers begins with it; nothing is drained, no phase is marked. */
export function* openFrame(
  attempt: Attempt,
  input: CallModelInput & { readonly frame: Frame },
): Steps<CallModelAnswer> {
  const { world } = attempt
  const { threadId, run, step, frame } = input
  const id = modelOperationId({ run, step, frame })
  const known = world.threads.get(threadId)?.operations.get(id)
  if (known?.state === 'finished') return recorded(attempt, world.thread(threadId), known)
  const part = { ...input, callId: frame.callId, queued: false, first: false, last: frame.last === true }
  const begun = enterCall<CallModelAnswer>(attempt, part, { id: frame.callId, opens: true })
  if (begun.kind === 'answered')
    return begun.answer.type === 'result' ? { type: 'refused', result: begun.answer } : begun.answer
  if (world.may(0.05)) {
    const make = () => ({ type: 'result', outcome: 'failed', errorDigest: 'arguments' }) as const
    return { type: 'refused', result: commitResult(attempt, begun, part, { make }) }
  }
  yield
  const { thread } = begun
  const held = thread.operations.get(id)
  if (held?.state === 'finished') return held.answer as CallModelAnswer
  const { number } = hold(thread, id, 'started')
  yield
  if (attempt.isCut()) {
    if (world.may(0.3)) throw new Cut()
    return commit(attempt, thread, { id, number }, () => ({ type: 'interrupted' }))
  }
  if (world.may(0.05) && thread.operations.get(id)?.attempt === number)
    return { type: 'wait', until: input.now + world.random.below(20_000) }
  return commit(attempt, thread, { id, number }, (): CallModelAnswer => {
    if (world.may(0.05)) return { type: 'answered', text: false, calls: [], usage: USAGE }
    const prefix = nestedCallIdOf(frame.callId, 0).slice(0, -1)
    const calls = chosenCalls(world, thread, { run, prefix, parentCall: frame.callId })
    say(thread, { role: 'assistant', by: 'runtime' })
    const operations = world.may(0.05)
      ? chosenOperations(world, thread, { key: `hook-${frame.callId}`, inStep: true })
      : []
    return { type: 'answered', text: true, calls, usage: USAGE, operations }
  })
}
