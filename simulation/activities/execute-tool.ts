import type { ExecuteToolAnswer, ExecuteToolInput, ResultAnswer } from '../../src/protocol/activities.js'
import type { ToolPlan } from '../../src/protocol/plan.js'
import { say } from '../store/messages.js'
import type { CallRow, RequestRow, ThreadRow } from '../store/rows.js'
import { chosenOperations, chosenResult } from './choices.js'
import { commitResult, enterCall } from './hold-call.js'
import { planOfDigest, TOOLS } from './plans.js'
import { append, commit, Cut, finish, openThread, recorded, takeFacts, TERMINATED } from './steps.js'
import type { Attempt, Steps } from './steps.js'

const REMOTE = { type: 'remote', taskQueue: 'python', activity: 'draw', timeout: 1000 } as const

/** One call, phases 5 and 6, as `src/activities/execute-tool` does it: look, ask, begin, run, commit. */
export function* executeTool(attempt: Attempt, input: ExecuteToolInput): Steps<ExecuteToolAnswer> {
  const { world } = attempt
  const stored = world.threads.get(input.threadId)
  const row = stored?.calls.get(input.callId)
  const known = stored?.operations.get(input.callId)
  if (stored === undefined) return TERMINATED
  const answer = known?.state === 'finished' ? (known.answer as ExecuteToolAnswer) : null
  if (input.queued && row !== undefined && row.status !== 'open' && answer?.type !== 'result')
    return { type: 'result', outcome: row.status, storedNothing: true }
  if (known?.state === 'finished') return recorded(attempt, stored, known)
  if (row === undefined) return skipMissing(attempt, input)
  const elsewhere = kindElsewhere(input, row)
  if (elsewhere !== null) return answerKind(attempt, input, elsewhere)
  const limited = stored.operations.has(`${input.callId}_limit`) || (known === undefined && world.may(0.02))
  if (limited) return endRun(attempt, input)
  if (row.name === 'transfer') return handOff(attempt, input)
  if (row.name === 'careful') {
    const asked = permission(attempt, input, stored)
    if (asked !== null) return asked
    yield
  }
  return yield* run(attempt, input, row.name)
}

/** A tool that was queued by a bare signal: recorded and skipped (T10). */
function skipMissing(attempt: Attempt, input: ExecuteToolInput): ExecuteToolAnswer {
  if (!input.queued) throw new Error(`Expected a row of the call ${input.callId}, found none.`)
  const thread = openThread(attempt, input)
  if (thread === null) return TERMINATED
  const id = `${input.callId}_missing`
  if (!thread.operations.has(id)) append(thread, takeFacts(thread, input))
  finish(attempt, thread, id, null)
  return { type: 'result', outcome: 'failed' }
}

/** A name that the plan does not list there, and that is not for this activity. */
function kindElsewhere(
  { promptPath, depth, plan, moved }: ExecuteToolInput,
  { name }: CallRow,
): ToolPlan | null {
  const { prompts } = planOfDigest(plan)
  const listed = prompts[promptPath.at(-1) ?? '']?.tools[name]
  const found = listed ?? TOOLS[name]
  if (found === undefined || moved === true || found.kind === 'hand_off') return null
  if (found.kind === 'function') return listed === undefined && found.taskQueue !== undefined ? found : null
  return found.kind === 'prompt' && depth >= 3 ? null : found
}

function answerKind(attempt: Attempt, input: ExecuteToolInput, tool: ToolPlan): ExecuteToolAnswer {
  const id = `${input.callId}_kind`
  const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id, opens: false })
  if (entered.kind === 'answered') return entered.answer
  const answer = { type: 'kind', tool } as const
  finish(attempt, entered.thread, id, answer)
  return answer
}

/** A limit that an activity knows ends the run before the call begins. */
function endRun(attempt: Attempt, input: ExecuteToolInput): ExecuteToolAnswer {
  const id = `${input.callId}_limit`
  const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id, opens: false })
  if (entered.kind === 'answered') return entered.answer
  const answer = { type: 'end', reason: 'budget', outcome: 'failed' } as const
  finish(attempt, entered.thread, id, answer)
  return answer
}

function handOff(attempt: Attempt, input: ExecuteToolInput): ExecuteToolAnswer {
  const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id: input.callId, opens: true })
  if (entered.kind === 'answered') return entered.answer
  const make = (): ResultAnswer => {
    if (input.handedOff) return { type: 'result', outcome: 'failed', errorDigest: 'handed_off' }
    say(entered.thread, { role: 'user', by: 'runtime' })
    const agent = attempt.world.random.pick(['boss', 'clerk', 'pair'])
    return { type: 'result', outcome: 'succeeded', operations: [{ kind: 'hand_off', agent }] }
  }
  return commitResult(attempt, entered, input, { make })
}

/** Whoever has to allow the call is asked before it begins; null: it may begin. */
function permission(attempt: Attempt, input: ExecuteToolInput, thread: ThreadRow): ExecuteToolAnswer | null {
  const { callId } = input
  if (thread.operations.get(callId)?.state === 'started') return null
  const asked = [...thread.requests.values()].filter((request) => request.callId === callId)
  const last = asked.at(-1)
  if (last?.state === 'open') {
    if (input.response === null) return approval(last)
    if (input.response.expired === true) attempt.world.saw('answer nobody approved in time')
    // A bare update or the end of the time answered: the row takes over what it said.
    last.state = 'answered'
    last.approved = input.response.approved === true
  }
  if (last === undefined && input.failed === true) return null
  const isChanged = asked.length < 3 && attempt.world.may(0.1)
  if (last?.approved === true && !isChanged) return null
  if (last?.state === 'answered' && last.approved !== true) {
    const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id: callId, opens: true })
    if (entered.kind === 'answered') return entered.answer
    return commitResult(attempt, entered, input, { make: () => ({ type: 'result', outcome: 'denied' }) })
  }
  const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id: callId, opens: false, state: 'waiting' })
  if (entered.kind === 'answered') return entered.answer
  const id = asked.length === 0 ? `approval_${callId}` : `approval_${callId}_${asked.length + 1}`
  const { random } = attempt.world
  const until = random.chance(0.3) ? { expiresAt: input.now + random.below(20_000) } : {}
  const request: RequestRow = { id, kind: 'approval', callId, state: 'open', ...until }
  entered.thread.requests.set(id, request)
  return approval(request)
}

function approval({ id, expiresAt }: RequestRow): ExecuteToolAnswer {
  const asked = { requestId: id, kind: 'approval', status: 'waiting_permission', next: 'execute' } as const
  return { type: 'pending', ...asked, ...(expiresAt === undefined ? {} : { expiresAt }) }
}

/** The tool's own code, between its `started` row and its outcome. */
function* run(attempt: Attempt, input: ExecuteToolInput, name: string): Steps<ExecuteToolAnswer> {
  const { world } = attempt
  const { callId } = input
  const entered = enterCall<ExecuteToolAnswer>(attempt, input, { id: callId, opens: true })
  if (entered.kind === 'answered') return entered.answer
  const { thread, id, number, cutOff } = entered
  if (name === 'draw') {
    yield
    return commit(attempt, thread, { id, number }, () => {
      thread.remotes.set(callId, { state: 'open' })
      return REMOTE
    })
  }
  // An operator ended its activity: its code is not run.
  if (cutOff || input.failed === true) {
    const outcome = cutOff ? 'unknown' : 'failed'
    return commitResult(attempt, entered, input, { make: () => ({ type: 'result', outcome }) })
  }
  const key = `${thread.id} ${callId}`
  world.log.sideEffects.set(key, (world.log.sideEffects.get(key) ?? 0) + 1)
  yield
  if (attempt.isCut()) {
    if (world.may(0.2)) throw new Cut()
    const outcome = thread.terminateRequested ? 'cancelled' : 'interrupted'
    return commitResult(attempt, entered, input, { make: () => ({ type: 'result', outcome }) })
  }
  if (name === 'form')
    return commit(attempt, thread, { id, number }, () => {
      const operations = chosenOperations(world, thread, { key: callId, inStep: true })
      const isEarly = world.may(0.2)
      if (isEarly) world.saw('answer before its question')
      thread.requests.set(callId, {
        ...{ id: callId, kind: 'call', callId },
        state: isEarly ? 'answered' : 'open',
      })
      return {
        type: 'pending',
        requestId: callId,
        kind: 'call',
        status: 'waiting_input',
        next: 'complete',
        ...(isEarly && { answered: true }),
        operations,
      }
    })
  return commitResult(attempt, entered, input, { make: () => chosenResult(world, thread, callId) })
}
