/** Requests that wait for an answer from outside: of calls, of a blocked run, of subagents that lack variables. T10: an answer is checked. */
import { respondProblem } from '../protocol/message-problems.js'
import type { Respond } from '../protocol/messages.js'
import type { PendingItem } from '../protocol/snapshot.js'
import { modelResponded } from './model-answers.js'
import { callResponded } from './call-answers.js'
import { allCalls } from './calls.js'
import type { ThreadControl } from './control.js'
import type { CallIn } from './call-state.js'
import { deferredRequests, deferredSupplied } from './deferred.js'
import { variablesSet } from './inbox.js'
import { endingOf } from './next-action.js'

/** What a kind of request is answered with; of kinds that are not listed the activities judge. */
const ANSWERED_WITH: Readonly<Record<string, string>> = {
  approval: 'approved',
  call: 'result',
  variables: 'names',
}

/** The requests that `respond` may answer now. */
export function openRequests(control: ThreadControl): readonly PendingItem[] {
  const { request } = control
  const calls = pendingCalls(control).map(({ name, request: { requestId, kind, requestedAt } }) => ({
    id: requestId,
    kind,
    toolName: name,
    requestedAt,
  }))
  const blocked = request === null || ended(control) ? [] : [request]
  // These belong to no run.
  const children = closes(control) ? [] : deferredRequests(control)
  return [...calls, ...modelRequest(control), ...blocked, ...children]
}

/** What a side's model call waits for. */
function modelRequest(control: ThreadControl): readonly PendingItem[] {
  const pending = control.run?.pending
  if (pending === undefined || ended(control)) return []
  const { requestId: id, kind, requestedAt } = pending
  return [{ id, kind, toolName: null, requestedAt }]
}

/** Why the answer is refused, or null: nothing changes then. */
export function responseRefusal(
  control: ThreadControl,
  input: unknown,
): 'Request.Invalid' | 'Request.NotFound' | null {
  if (respondProblem(input) !== undefined) return 'Request.Invalid'
  const answer = input as Respond
  const request = openRequests(control).find(({ id }) => id === answer.id)
  if (request === undefined) return 'Request.NotFound'
  const expected = Object.hasOwn(ANSWERED_WITH, request.kind) ? ANSWERED_WITH[request.kind] : undefined
  return expected === undefined || expected in answer ? null : 'Request.Invalid'
}

/** Takes an answer that was not refused: the call goes on with it, or what was blocked looks again. */
export function responded(control: ThreadControl, input: Respond, now: number): ThreadControl {
  const { id } = input
  const call = pendingCalls(control).find(({ request }) => request.requestId === id)
  const going = { ...control, progressed: true }
  const response = { requestId: id, ...('approved' in input ? { approved: input.approved } : {}) }
  if (call !== undefined) return callResponded(going, call.id, response)
  if (control.run?.pending?.requestId === id) return modelResponded(going, response)
  if (control.request?.id === id) return { ...variablesSet(going, now), request: null }
  return deferredSupplied(control, id)
}

function pendingCalls(control: ThreadControl): readonly CallIn<'pending'>[] {
  if (ended(control)) return []
  return allCalls(control.run?.step?.calls ?? []).filter((call) => call.state === 'pending')
}

function ended(control: ThreadControl): boolean {
  return closes(control) || endingOf(control) !== null
}

function closes({ terminating, closing }: ThreadControl): boolean {
  return terminating || closing !== null
}
