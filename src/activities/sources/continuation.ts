/**
 * Calls that go on in parts, between which no worker holds them: behind an answer of a person, a durable timer, or the end of a
 * workflow that the call has started.
 *
 * Owns: what the row of a call keeps of its next part, when that may begin, and the end of a part. Does not own: the operation
 * (`operation.ts`), the request of a person (`store/calls/requests.ts`), and what a part does, which its source decides.
 * Invariants: a retry of the part that has ended returns its answer; only what it waited for begins the next one, once (T4). The answer of
 * a person is in the row of the request, which nothing removes.
 */
import type { ToolResult } from '../../definitions/tool-result.js'
import { schemaFormProblem } from '../../policy/schema-problem.js'
import type { ExecuteToolInput, PendingAnswer, WaitAnswer } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { findRequest, insertRequest } from '../../store/calls/requests.js'
import { appendEvents } from '../../store/events.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { withoutUndefined } from '../../protocol/values.js'
import { WORKFLOW_REQUEST } from '../../protocol/payloads/tool-workflow.js'
import { commit, continuationOf, suspend } from '../operation.js'
import type { Continuation } from '../operation.js'
import { storeInPlace } from '../tool/in-place-log.js'
import type { HeldCall } from '../tool/held-call.js'
import type { CallPending } from '../tool/tool-values.js'
import { readOutcome } from '../workflow-tools/outcome.js'

/** A part of a call that goes on, with what it waited for. */
interface ResumedPart extends Pick<Continuation, 'number' | 'resume' | 'repeatable'> {
  /** Null: a time has come. */
  readonly given: ToolResult | null
}

const STATE_BYTES = 64 * 1024
/** People are not asked for ever: a server that has no end is one that does not work. */
const MOST_QUESTIONS = 20

/** The answer of a part that has ended, for an activity that does not come with what the call waits for; null: the next part may begin. */
export function answerOfPart(
  { response, now, failed }: Pick<ExecuteToolInput, 'response' | 'now' | 'failed'>,
  operation: OperationRecord | null,
): PendingAnswer | WaitAnswer | null {
  const next = continuationOf(operation)
  if (next === null || operation?.state !== 'waiting' || failed === true) return null
  const { answer } = next
  const goesOn = answer.type === 'wait' ? now >= answer.until : response?.requestId === answer.requestId
  return goesOn ? null : answer
}

/** What the next part of a call begins with; null: the call has one part. */
export async function readResumed(
  store: Store,
  threadId: string,
  operation: OperationRecord | null,
): Promise<ResumedPart | null> {
  const next = continuationOf(operation)
  if (next === null) return null
  const { answer } = next
  const part = withoutUndefined({ number: next.number, resume: next.resume, repeatable: next.repeatable })
  if (answer.type === 'wait') return { ...part, given: null }
  const request = await store.read((db) => findRequest(db, threadId, answer.requestId))
  // Checked by `respond`; a bare update from Temporal's command line has no answer.
  const given = (request?.answer ?? null) as ToolResult | null
  const nothing: ToolResult = { status: 'error', error: 'The call was answered without a result.' }
  return { ...part, given: given ?? nothing }
}

/** Why a call cannot go on as its source wants, for the model; null: it can. */
export function pendingProblem(
  call: HeldCall,
  { resume, form, after, waitsFor }: CallPending,
): string | null {
  if (JSON.stringify(resume).length > STATE_BYTES)
    return `The tool wants to go on with more than ${STATE_BYTES} bytes of state.`
  if (after !== undefined)
    return typeof after === 'number' && after >= 0
      ? null
      : 'The tool wants to go on after something that is no time.'
  if (waitsFor === undefined && askedOf(call) >= MOST_QUESTIONS)
    return `The tool has asked ${MOST_QUESTIONS} times, and did not end.`
  const problem = form === undefined ? undefined : schemaFormProblem(form)
  return problem === undefined ? null : `The tool answered with a "form" that is no JSON Schema: ${problem}`
}

function askedOf({ operation: { detail } }: HeldCall): number {
  return continuationOf({ detail })?.asked ?? 0
}

function numberOf({ operation: { detail } }: HeldCall): number {
  return (continuationOf({ detail })?.number ?? 1) + 1
}

/** Commits the end of a part. Its answer lets the workflow wait for a person, a workflow or a timer, without an activity. */
export function suspendCall(
  store: Store,
  call: HeldCall,
  pending: CallPending,
): Promise<PendingAnswer | WaitAnswer> {
  const { row, operation } = call
  const number = numberOf(call)
  return commit(store, operation, async (tx): Promise<PendingAnswer | WaitAnswer> => {
    const answer = await answerTo(tx, { call, pending, number })
    const { resume, source = null, repeatable } = pending
    const asks = answer.type === 'pending' && pending.waitsFor === undefined
    const asked = askedOf(call) + (asks ? 1 : 0)
    await suspend(tx, operation, {
      ...{ number, resume, asked, source, answer },
      ...(repeatable !== undefined && { repeatable }),
    })
    await storeInPlace(tx, call.inPlace, row)
    if (asks) await ask(tx, call, { answer, pending })
    return answer
  })
}

interface Ending {
  readonly call: HeldCall
  readonly pending: CallPending
  /** Of the part that follows. */
  readonly number: number
}

async function answerTo(
  tx: Writer,
  { call: { input, since }, pending: { after, waitsFor }, number }: Ending,
): Promise<PendingAnswer | WaitAnswer> {
  const { threadId, callId } = input
  const now = input.now + Math.ceil(performance.now() - since)
  if (waitsFor !== undefined) {
    // It is nobody's to answer, so it has no row. One that ended meanwhile has found no request to wake.
    const isEnded = (await readOutcome(tx, { threadId, callId })) !== null
    return {
      ...{ type: 'pending', requestId: `${callId}_workflow_${number - 1}`, kind: WORKFLOW_REQUEST },
      ...{ status: 'running', next: 'execute', expiresAt: now + waitsFor.lookAfter },
      ...(isEnded && { answered: true }),
    }
  }
  return after === undefined
    ? {
        ...{ type: 'pending', requestId: `${callId}_input_${number - 1}`, kind: 'call' },
        ...{ status: 'waiting_input', next: 'execute' },
      }
    : { type: 'wait', until: now + Math.min(after, LIMITS.longestTimer), cause: 'call' }
}

async function ask(
  tx: Writer,
  { input, row, now, scope }: HeldCall,
  {
    answer: { requestId },
    pending: { form, connect },
  }: { readonly answer: PendingAnswer; readonly pending: CallPending },
): Promise<void> {
  const { threadId, callId } = input
  const question = { kind: 'call', call_id: callId, tool_name: row.name, requested_at: now } as const
  await insertRequest(tx, {
    thread_id: threadId,
    id: requestId,
    ...question,
    detail: form === undefined ? null : { form, ...(connect !== undefined && { connect: { ...connect } }) },
  })
  const asked = fact('action.required', { requestId, kind: 'call', toolName: row.name }, scope)
  await appendEvents(tx, { threadId, events: [asked], now })
}
