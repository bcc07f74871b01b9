import { resultOperationId } from '../protocol/ids.js'
import { findChild } from './children.js'
import { findOperation } from './operations.js'
import { deferredChildOf, requestsOfCall } from './pending.js'
import type { PendingRecord } from './pending.js'
import { lastRun } from './runs.js'
import type { Reader } from './store.js'
import { findThread } from './threads.js'
import { findToolCall } from './tool-calls.js'

/** `waiting`: nobody goes on with it yet; `ended`: what asked for it was ended without it. */
export type AnswerFate = 'waiting' | 'taken' | 'ended'

/** What became of an answer that is in its request's row, by what its call or its thread has done since. */
export async function answerFate(db: Reader, request: PendingRecord): Promise<AnswerFate> {
  const child = deferredChildOf(request)
  if (child !== null) return fateOfChild(db, request.thread_id, child)
  if (request.call_id !== null) return fateOfCall(db, request, request.call_id)
  // A blocked run has ended: the next one has looked again.
  const run = await lastRun(db, request.thread_id)
  return run !== null && run.started_at > request.requested_at ? 'taken' : 'waiting'
}

/** A subagent that waited runs, or is gone. What hooks put into its transcript before says neither. */
async function fateOfChild(db: Reader, parentThreadId: string, reference: string): Promise<AnswerFate> {
  const thread = await findThread(db, reference)
  if (thread === null || thread.closed_at !== null) return 'ended'
  return (await findChild(db, parentThreadId, reference))?.status === 'deferred' ? 'waiting' : 'taken'
}

async function fateOfCall(db: Reader, request: PendingRecord, callId: string): Promise<AnswerFate> {
  const { thread_id: threadId } = request
  const call = await findToolCall(db, threadId, callId)
  if (call === null || call.status === 'interrupted' || call.status === 'cancelled') return 'ended'
  if (call.status !== 'open') return 'taken'
  // A call may wait again, under a new request. A result that came too early is none.
  const asked = (await requestsOfCall(db, threadId, callId)).filter(({ status }) => status !== 'early')
  const newest = asked.at(-1)
  if (newest !== undefined && newest.id !== request.id) return 'taken'
  // The first half of a call whose result comes from outside has finished with the question.
  if (request.kind === 'call')
    return (await findOperation(db, threadId, resultOperationId(callId))) === null ? 'waiting' : 'taken'
  const operation = await findOperation(db, threadId, callId)
  return operation?.state === 'waiting' ? 'waiting' : 'taken'
}
