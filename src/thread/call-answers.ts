/**
 * A call of the step in flight, at any depth: the input of its activity, and the changes that answers of activities, and
 * responses from outside, make to it.
 *
 * It owns: results, requests of calls, calls in other languages, the calls of a prompt that is called as a tool, and the open
 * requests of a thread (of calls, of a side's model call, of a blocked run, of subagents that lack variables).
 * It does not own: the start and the wait of subagents (`child-calls.ts`), and what a call needs next (`next-action.ts`).
 * Invariants: an answer is applied once (T4). An answer from outside is checked before it changes anything (T10).
 */
import type {
  ActivityInput,
  CallInput,
  CallModelAnswer,
  CompleteCallAnswer,
  ExecuteToolAnswer,
  ExecuteToolInput,
  PendingAnswer,
  PrepareChildAnswer,
  PrepareMessageAnswer,
  RemoteAnswer,
  ResultAnswer,
  Usage,
} from '../protocol/activities.js'
import { phaseFact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { respondProblem } from '../protocol/message-problems.js'
import type { Respond } from '../protocol/messages.js'
import { queuesTool } from '../protocol/operations.js'
import type { ToolPlan } from '../protocol/plan.js'
import type { PendingItem } from '../protocol/status.js'
import { planOf } from './advance.js'
import {
  addUsage,
  applyActivityFailure,
  applyEnd,
  applyTermination,
  applyWait,
  enforceStepBudget,
} from './apply.js'
import { changeCall, changeStep, findCallInFlight, listCalls, locateInStep, pickCallBase } from './calls.js'
import { applyPreparedChildren, applyPreparedMessage } from './child-calls.js'
import { deferChildren, listDeferredRequests, supplyDeferred } from './children.js'
import type { ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { onVariablesSet } from './inbox.js'
import { respondToModel } from './model-answers.js'
import { applyOperations } from './operations.js'
import { endingOf, setResumed, stepOf } from './run.js'
import type { Call, CallIn, CallRequest, CallResponse, CallWork, Run, Step } from './run.js'
import type { Millis } from '../protocol/time.js'

/** The input of every activity of a call. */
export function callInput(control: ThreadControl, work: CallWork): Omit<CallInput, keyof ActivityInput> {
  const { run, step, call, promptPath, depth } = work
  const response = call.state === 'open' ? call.response : undefined
  const { isFirst, isLast } = locateInStep(step, call)
  return {
    step: step.number,
    side: step.side,
    agent: control.agent,
    plan: planOf(control).digest,
    callId: call.id,
    name: call.name,
    promptPath,
    depth,
    queued: call.queued === true,
    handedOff: step.handOff !== null,
    sideSteps: run.sideSteps,
    first: isFirst && step.phase === 4,
    last: isLast,
    ...(response !== undefined && { response }),
  }
}

/** The input of `executeTool`, which runs a function tool, or finds the kind of a name that the plan does not have. */
export function toolInput(
  control: ThreadControl,
  work: CallWork,
): Omit<ExecuteToolInput, keyof ActivityInput> {
  return {
    response: null,
    ...callInput(control, work),
    ...(work.call.tool?.kind === 'function' && { moved: true as const }),
  }
}

/** The limit of a function tool, milliseconds. That of a queued tool is not in the plan: the activity knows and applies it. */
export function toolTimeout({ call, tool }: CallWork): number {
  if (tool?.kind === 'function') return tool.timeout
  return call.queued ? LIMITS.scheduleToClose : LIMITS.toolTimeout
}

type ToolAnswer = ExecuteToolAnswer | PrepareChildAnswer | PrepareMessageAnswer | CompleteCallAnswer

/** Applies the answer of an activity of a call. */
export function applyToolAnswer(
  control: ThreadControl,
  callId: string,
  answer: ToolAnswer,
  now: Millis,
): ThreadControl {
  switch (answer.type) {
    case 'result':
      return applyCallResult(control, callId, answer, now)
    case 'remote':
      return applyRemoteCall(control, callId, answer)
    case 'kind':
      return applyToolKind(control, callId, answer.tool)
    case 'children':
      return applyPreparedChildren(control, callId, answer, now)
    case 'message':
      return applyPreparedMessage(control, callId, answer, now)
    case 'pending':
      return applyPendingCall(control, callId, answer, now)
    case 'wait':
      return applyWait(control, answer, null)
    case 'end':
      return applyEnd(control, answer, now)
    case 'terminated':
      return applyTermination(control)
  }
}

/** The result of a call, and what the call did to its thread. */
export function applyCallResult(
  control: ThreadControl,
  callId: string,
  answer: ResultAnswer,
  now: Millis,
): ThreadControl {
  const { run } = control
  const step = stepOf(run)
  if (run === null || step === null) return control
  // Errors of nested calls belong to the prompt that made them: they are part of its result.
  const own = step.calls.some(({ id }) => id === callId)
  const counted: Run = {
    ...addUsage(run, answer.usage),
    repeatedError: own ? countRepeatedError(run, answer) : run.repeatedError,
  }
  const done = changeCall({ ...control, progressed: true, run: counted }, callId, (call) => ({
    ...pickDoneBase(call),
    state: 'done',
    outcome: answer.outcome,
  }))
  const deferring = deferChildren(done, callId, answer.operations, now)
  return enforceStepBudget(
    changeStep(applyOperations(deferring, answer.operations, now), (step) => markPhase(step, answer)),
  )
}

/** The call waits for a response from outside. If its tool asked for that, it has begun, and its activity has marked the phase. */
export function applyPendingCall(
  control: ThreadControl,
  callId: string,
  answer: PendingAnswer & Pick<CallRequest, 'ofModel'>,
  now: Millis,
): ThreadControl {
  const { requestId, kind, status, next, expiresAt, usage, ofModel } = answer
  const { run } = control
  if (run === null) return control
  const request: CallRequest = {
    ...{ requestId, kind, status, next, requestedAt: now },
    ...(expiresAt !== undefined && { expiresAt }),
    ...(ofModel === true && { ofModel }),
  }
  const spent = { ...control, progressed: true, run: addUsage(run, usage) }
  const waiting = changeCall(spent, callId, (call) => ({ ...pickCallBase(call), state: 'pending', request }))
  const begun = next === 'complete' ? changeStep(waiting, markBegun) : waiting
  const answered = answer.answered === true ? respondToCall(begun, callId, { requestId }) : begun
  return applyOperations(answered, answer.operations, now)
}

/** Applies the response that a call waits for: it is the result, or the call runs again and finds it. */
function respondToCall(control: ThreadControl, callId: string, response: CallResponse): ThreadControl {
  let resumes = false
  const answered = changeCall(control, callId, (call) => {
    if (call.state !== 'pending') return call
    const { next, ofModel } = call.request
    if (next === 'complete')
      return { ...pickCallBase(call), state: 'answered', requestId: response.requestId }
    resumes = ofModel === true
    return { ...pickCallBase(call), state: 'open', response }
  })
  return resumes && answered.run !== null ? { ...answered, run: setResumed(answered.run, true) } : answered
}

/** The call is to run on another worker; its activity has begun it and marked the phase. */
export function applyRemoteCall(control: ThreadControl, callId: string, answer: RemoteAnswer): ThreadControl {
  const { taskQueue, activity, timeout } = answer
  const remote = changeCall({ ...control, progressed: true }, callId, (call) => ({
    ...pickCallBase(call),
    state: 'remote',
    remote: { taskQueue, activity, timeout },
  }))
  return changeStep(remote, markBegun)
}

/** The other worker's activity has ended in whatever way: the store has the result, if there is one. */
export function applyRemoteReturn(control: ThreadControl, callId: string): ThreadControl {
  return changeCall({ ...control, progressed: true }, callId, (call) =>
    call.state === 'remote' ? { ...pickCallBase(call), state: 'returned' } : call,
  )
}

/** Applies the kind of tool that an activity found for the name. An impossible or repeated kind would loop for ever: it fails. */
export function applyToolKind(control: ThreadControl, callId: string, tool: ToolPlan): ThreadControl {
  const place = findCallInFlight(stepOf(control.run)?.calls ?? [])
  const deep = tool.kind === 'prompt' && (place?.frames.length ?? 0) >= LIMITS.frameDepth
  const here = tool.kind === 'hand_off' || (tool.kind === 'function' && tool.taskQueue === undefined)
  const known = place?.call.tool !== undefined || here
  if (deep || known) return applyActivityFailure(control, 'no_answer')
  return changeCall({ ...control, progressed: true }, callId, (call) => ({ ...call, tool }))
}

/** The nested step of a prompt begins: no activity of a call marks phase 5 for it. */
export function beginFrame(control: ThreadControl): ThreadControl {
  const { run } = control
  const step = stepOf(run)
  if (run === null || step === null || step.outside || step.phase > 4) return control
  const scope = { runId: runIdOf(run.number), stepId: stepIdOf(run.number, step.number) }
  return changeStep(withFacts(control, phaseFact(5, scope)), markBegun)
}

/** Applies the model call of a prompt that was called as a tool: its calls nest in that call, and count as no step. */
export function applyFrameAnswer(
  control: ThreadControl,
  frame: { readonly callId: string; readonly prompt: string },
  answer: Exclude<CallModelAnswer, { readonly type: 'terminated' }>,
  now: Millis,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  switch (answer.type) {
    case 'wait':
      return applyWait(control, answer, null)
    case 'pending':
      return applyPendingCall(control, frame.callId, { ...answer, ofModel: true }, now)
    case 'end':
      return applyEnd(control, answer, now)
    case 'refused':
      return applyCallResult(control, frame.callId, answer.result, now)
    case 'interrupted':
      return applyOperations(
        { ...control, progressed: true, run: { ...addUsage(run, answer.usage), stop: run.stop ?? 'run' } },
        answer.operations,
        now,
      )
    case 'answered':
      return openFrame(control, frame, answer, now)
    case 'activates':
    case 'begun':
    case 'moved':
    case 'nothing_to_do':
      // A nested step drains nothing and starts no subagents by itself: it is over without an answer.
      return openFrame(control, frame, NO_CALLS, now)
  }
}

const NO_CALLS: FrameCalls = { calls: [] }

type FrameCalls = Pick<Extract<CallModelAnswer, { readonly type: 'answered' }>, 'calls' | 'operations'> & {
  readonly usage?: Usage
}

function openFrame(
  control: ThreadControl,
  frame: { readonly callId: string; readonly prompt: string },
  made: FrameCalls,
  now: Millis,
): ThreadControl {
  if (control.run === null) return control
  const calls: readonly Call[] = made.calls.map(({ id, name }) => ({ id, name, state: 'open' }))
  const stepping = changeCall(
    { ...control, progressed: true, run: addUsage(control.run, made.usage) },
    frame.callId,
    (call) => ({ ...pickCallBase(call), state: 'framed', prompt: frame.prompt, calls }),
  )
  return enforceStepBudget(applyOperations(stepping, made.operations, now))
}

/** The fields that stay of a finished call: the kind of its tool is not needed any more. */
function pickDoneBase({ id, name, queued }: Call): Pick<Call, 'id' | 'name' | 'queued'> {
  return { id, name, ...(queued === undefined ? {} : { queued }) }
}

/**
 * A result marks phase 5, and the last one phase 6. A call that queued a tool is not the last one, even if the tool was
 * refused. The text that a stop tool leaves counts as text of its side.
 */
function markPhase(step: Step, { operations, text }: ResultAnswer): Step {
  const last = step.calls.every(({ state }) => state === 'done') && !queuesTool(operations)
  return { ...step, phase: last ? 6 : 5, text: step.text || text === true }
}

function markBegun(step: Step): Step {
  return { ...step, phase: 5 }
}

function countRepeatedError(run: Run, answer: ResultAnswer): Run['repeatedError'] {
  if (answer.errorDigest === undefined) return null
  const same = run.repeatedError?.digest === answer.errorDigest
  return { digest: answer.errorDigest, count: same ? (run.repeatedError?.count ?? 0) + 1 : 1 }
}

/** The field that a response to a kind of request must have; activities check the kinds that are not listed. */
const RESPONSE_FIELDS: Readonly<Record<string, string>> = {
  approval: 'approved',
  call: 'result',
  variables: 'names',
}

/** The requests that `respond` may answer now. */
export function listOpenRequests(control: ThreadControl): readonly PendingItem<Millis>[] {
  const { request } = control
  const calls = listPendingCalls(control).map(({ name, request: { requestId, kind, requestedAt } }) => ({
    id: requestId,
    kind,
    toolName: name,
    requestedAt,
  }))
  const blocked = request === null || isOver(control) ? [] : [request]
  // Requests of deferred children belong to no run.
  const children = isClosing(control) ? [] : listDeferredRequests(control)
  return [...calls, ...listModelRequests(control), ...blocked, ...children]
}

/** The request that a side's model call waits for, if it does. */
function listModelRequests(control: ThreadControl): readonly PendingItem<Millis>[] {
  const phase = control.run?.phase
  if (phase?.kind !== 'pending' || isOver(control)) return []
  const { requestId: id, kind, requestedAt } = phase.request
  return [{ id, kind, toolName: null, requestedAt }]
}

/** The code with which the response is refused, or null. */
export function responseRefusal(
  control: ThreadControl,
  input: unknown,
): 'Request.Invalid' | 'Request.NotFound' | null {
  if (respondProblem(input) !== undefined) return 'Request.Invalid'
  const answer = input as Respond
  const request = listOpenRequests(control).find(({ id }) => id === answer.id)
  if (request === undefined) return 'Request.NotFound'
  const expected = Object.hasOwn(RESPONSE_FIELDS, request.kind) ? RESPONSE_FIELDS[request.kind] : undefined
  return expected === undefined || expected in answer ? null : 'Request.Invalid'
}

/** Takes a response that was not refused: its call goes on, or the blocked thread tries again. */
export function applyResponse(control: ThreadControl, input: Respond, now: Millis): ThreadControl {
  const { id } = input
  const call = listPendingCalls(control).find(({ request }) => request.requestId === id)
  const going = { ...control, progressed: true }
  const response = { requestId: id, ...('approved' in input ? { approved: input.approved } : {}) }
  if (call !== undefined) return respondToCall(going, call.id, response)
  const phase = control.run?.phase
  if (phase?.kind === 'pending' && phase.request.requestId === id) return respondToModel(going, response)
  if (control.request?.id === id) return { ...onVariablesSet(going, now), request: null }
  return supplyDeferred(control, id)
}

/** When the request of a call expires next, or null. */
export function nextExpiryOfRequest(control: ThreadControl): Millis | null {
  const times = listPendingCalls(control).flatMap(({ request }) => request.expiresAt ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

/** Calls whose requests have expired go on: their activities decide by the rows of the requests. */
export function expireRequests(control: ThreadControl, now: Millis): ThreadControl {
  return listPendingCalls(control).reduce(
    (current, { id, request: { requestId, expiresAt } }) =>
      expiresAt !== undefined && expiresAt <= now
        ? respondToCall(current, id, { requestId, expired: true })
        : current,
    control,
  )
}

function listPendingCalls(control: ThreadControl): readonly CallIn<'pending'>[] {
  if (isOver(control)) return []
  return listCalls(stepOf(control.run)?.calls ?? []).filter((call) => call.state === 'pending')
}

function isOver(control: ThreadControl): boolean {
  return isClosing(control) || endingOf(control) !== null
}

function isClosing({ terminating, closing }: ThreadControl): boolean {
  return terminating || closing !== null
}
