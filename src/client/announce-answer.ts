import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MessageRejectedError, NoWorkerError, RequestNotFoundError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { UPDATES } from '../protocol/messages.js'
import type { Respond } from '../protocol/messages.js'
import { answerFate } from '../store/calls/requests.js'
import type { PendingRecord } from '../store/calls/requests.js'
import type { ClientContext } from './client-context.js'
import { nobodyTook } from './nobody-took.js'
import { isOpen, knownThread } from './open-thread.js'
import { lostThread } from './signal-thread.js'
import { updateWorkflow } from './update-workflow.js'

/**
 * Tells the workflow of the answer in a request's row; it may hear of the request a moment later than everybody who reads the
 * store.
 */
export async function announceAnswer(context: ClientContext, request: PendingRecord): Promise<void> {
  const { thread_id: threadId, id } = request
  const input = updateOf(request)
  const until = Date.now() + LIMITS.respond
  // The same answer from another process is this very Update.
  let repeats = true
  for (;;) {
    const patience = Math.max(1, until - Date.now())
    const updateId = `${UPDATES.respond}:${id}${repeats ? '' : `:${randomUUID()}`}`
    const update = { name: UPDATES.respond, id: updateId, input, patience, repeats }
    const answer = await updateWorkflow(context, threadId, update)
    if (answer === 'accepted') return
    if (answer === 'silent') throw await nobodyTook(context, threadId, 'answer')
    if (answer === 'gone') throw await goneError(context, request)
    // A refusal under that id may be older than a reset, and the server of tests keeps one for ever: only a new id asks again.
    if (repeats) {
      repeats = false
      continue
    }
    if (answer === 'invalid') throw invalid(request)
    if (await wasTaken(context, request)) return
    if (Date.now() + LIMITS.respondPause >= until)
      throw new NoWorkerError(threadId, { taskQueue: await context.taskQueue(), kept: 'answer' })
    await sleep(LIMITS.respondPause)
  }
}

/** T5: the request, whether it was approved, the names of variables; the rest is in the row. */
function updateOf({ id, kind, approved, answer }: PendingRecord): Respond {
  if (kind === 'call') return { id, result: true }
  if (kind === 'approval') return { id, approved: approved === true }
  const names = (answer as { readonly names?: readonly string[] } | null)?.names
  return { id, names: names ?? [] }
}

/**
 * True when the thread went on with this very answer: its row holds no other.
 * @throws RequestNotFoundError when the request was ended before anybody took the answer
 */
async function wasTaken(context: ClientContext, request: PendingRecord): Promise<boolean> {
  const { thread_id: threadId, id } = request
  const store = await context.store()
  const fate = await store.read(async (db) => {
    const thread = await knownThread(db, threadId)
    return isOpen(thread) ? answerFate(db, request) : 'ended'
  })
  if (fate === 'ended') throw new RequestNotFoundError(threadId, { id, reason: 'one that was ended' })
  return fate === 'taken'
}

/** The row tells why Temporal has no workflow. */
async function goneError(context: ClientContext, { thread_id: threadId, id }: PendingRecord): Promise<Error> {
  const store = await context.store()
  const thread = await store.read((db) => knownThread(db, threadId))
  if (isOpen(thread)) return lostThread(threadId)
  return new RequestNotFoundError(threadId, { id, reason: 'a thread that has ended' })
}

function invalid({ thread_id: threadId, id }: PendingRecord): MessageRejectedError {
  return new MessageRejectedError(
    threadId,
    `Expected an answer that fits request "${id}", got one that its thread does not take: look at its snapshot.`,
  )
}
