/**
 * A fork: a new thread with the transcript of another one up to a message.
 *
 * Owns: what may be forked, where it is cut, what the new thread is, and the message with which it goes on. Does not own: the rows that are
 * copied (`store/threads/forked-rows.ts`).
 *
 * Invariants: the origin does not change. The fork is made in one transaction, with its owner, rules and budgets, and runs nothing until a
 * message comes. The same id gives the same fork.
 */
import { randomUUID } from 'node:crypto'
import { ConfigError, MessageNotFoundError, ThreadConflictError } from '../../protocol/errors.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { messageIdProblem, threadIdProblem } from '../../protocol/message-problems.js'
import { nowMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { halfCharacterProblem } from '../../protocol/values.js'
import { appendEvents, readEvents } from '../../store/events.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { SecretBox } from '../../store/secret-box.js'
import type { Reader, Writer } from '../../store/store.js'
import { isOpen } from '../../store/threads/open-threads.js'
import {
  agentAt,
  copyForkedRows,
  findPlace,
  lastFromOutside,
  lastPlace,
} from '../../store/threads/forked-rows.js'
import type { TranscriptCut } from '../../store/threads/forked-rows.js'
import { lastRun } from '../../store/threads/runs.js'
import { findThread, insertThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { clientSpan, inSpan } from '../../telemetry/spans.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { firstMessageIdOf } from '../create-thread.js'
import { checkMessage, sendMessage } from '../messages/send-message.js'
import type { NewMessage } from '../messages/send-message.js'
import { startWorkflow } from '../thread-workflow.js'

/** Where a thread is cut, and how the fork goes on. Without `at` and `before` the fork has the whole transcript. */
export interface ForkThread {
  /** The last message that the fork has. */
  readonly at?: string
  /** The first message that the fork does not have: it has all that comes before. */
  readonly before?: string
  /** The first message of the fork: an edited one, or one that goes another way. */
  readonly message?: string | NewMessage
  /**
   * True: the message that `before` names is sent again, as it was; left out, that is the last message of a person. The fork gives
   * another answer to it.
   */
  readonly again?: true
  /** The id of the new thread. The same id gives the same fork. @default a UUID */
  readonly id?: string
}

/** The new thread, and the message that it was sent. */
export interface ForkedThread {
  readonly threadId: string
  /** Null: none was sent. */
  readonly messageId: string | null
}

/** Makes the fork, or finds the one of that id, and sends its message once. */
export function forkThread(
  context: ClientContext,
  origin: string,
  options: ForkThread,
): Promise<ForkedThread> {
  const threadId = options.id ?? randomUUID()
  const problems = forkProblems(threadId, options)
  if (problems.length > 0) throw new ConfigError(problems)
  return inSpan(clientSpan('everthread.fork', { threadId }), () =>
    fork(context, { ...options, origin, threadId }),
  )
}

interface Forking extends Omit<ForkThread, 'before'> {
  readonly before?: string | undefined
  readonly origin: string
  readonly threadId: string
}

async function fork(context: ClientContext, forking: Forking): Promise<ForkedThread> {
  const { origin, threadId } = forking
  const store = await context.store()
  const before = forking.again !== true ? forking.before : await store.read((db) => askedAgain(db, forking))
  const message = await store.read((db) => firstMessage(db, { ...forking, before }))
  const defaultId = firstMessageIdOf(threadId)
  if (message !== undefined) checkMessage(threadId, message, () => defaultId)
  const { thread, isNew } = await store.write(async (tx) => {
    const known = await findThread(tx, threadId)
    if (known === null) await insertFork(tx, store.secrets, { ...forking, before })
    else if (known.forked_from?.threadId !== origin) throw conflict(threadId, origin)
    const found = known ?? (await requireThread(tx, threadId))
    return { thread: found, isNew: (await lastRun(tx, threadId)) === null }
  })
  if (message !== undefined) {
    const start = isOpen(thread) ? { start: { thread, isNew } } : {}
    const { messageId } = await sendMessage(context, { threadId, message, defaultId, ...start })
    return { threadId, messageId }
  }
  if (isOpen(thread)) await startWorkflow(context, thread, { isNew })
  return { threadId, messageId: null }
}

function forkProblems(threadId: string, options: ForkThread): readonly string[] {
  const { at, before, again, message } = options
  const problems: (string | undefined)[] = [
    threadIdProblem(threadId),
    halfCharacterProblem('a thread id', threadId),
  ]
  if (at !== undefined) problems.push(messageIdProblem(at))
  if (before !== undefined) problems.push(messageIdProblem(before))
  if (at !== undefined && before !== undefined)
    problems.push(
      'Expected "at", the last message that is taken, or "before", the first that is not, got both.',
    )
  if (again !== undefined && again !== true)
    problems.push(`Expected "again" to be true or absent, got ${typeof again}.`)
  if (again === true && (at !== undefined || message !== undefined))
    problems.push(
      'Expected "again" with "before" or alone, got it with "at" or "message": leave one of them out.',
    )
  return problems.filter((problem) => problem !== undefined)
}

function conflict(threadId: string, origin: string): ThreadConflictError {
  const problem = `Expected thread id "${threadId}" to be new or a fork of "${origin}", got another thread: use another id.`
  return new ThreadConflictError(threadId, { problem })
}

/** The message to answer again. A fork that exists is asked for it under the same id. @throws MessageNotFoundError */
async function askedAgain(db: Reader, { origin, before }: Forking): Promise<string> {
  await requireThread(db, origin)
  const id = before ?? (await lastFromOutside(db, origin))
  const place = id === null ? null : await findPlace(db, origin, id)
  if (id === null || place === null) throw new MessageNotFoundError(origin, id ?? 'a message of a person')
  if (place.role === 'user' && place.side === null) return id
  const problem = `Expected a message of a person to answer again, got "${id}", which has the role "${place.role}": give the one before it.`
  throw new ThreadConflictError(origin, { problem, messageId: id })
}

async function firstMessage(
  db: Reader,
  { origin, before, again, message }: Forking,
): Promise<string | NewMessage | undefined> {
  const asked = again === true && before !== undefined ? await findMessage(db, origin, before) : null
  if (asked === null) return message
  const { id, content, attachments, silent, metadata } = asked
  return {
    ...{ id, silent, attachments: attachments.map(({ path }) => path) },
    ...(content !== null && { content }),
    ...(metadata !== null && { metadata }),
  }
}

async function insertFork(tx: Writer, secrets: SecretBox, forking: Forking): Promise<void> {
  const { origin, threadId } = forking
  const thread = await requireForkable(tx, origin)
  const cut = await findCut(tx, forking)
  const now = nowMicros()
  const agent = await agentOf(tx, thread, cut)
  await insertThread(tx, {
    ...forkedRow(thread, cut, now),
    id: threadId,
    agent,
    ...(await originOf(tx, thread, cut)),
  })
  const forkedFrom = { threadId: origin, messageId: cut.messageId }
  const started = fact('thread.started', { agent, parent: null, forkedFrom })
  await appendEvents(tx, { threadId, events: [started, fact('session.created', {})], now })
  await copyForkedRows(tx, secrets, { from: origin, to: threadId, cut, now })
}

/** @throws ThreadNotFoundError; ThreadConflictError for a subagent, and for a thread that is being deleted */
async function requireForkable(db: Reader, threadId: string): Promise<ThreadRecord> {
  const thread = await requireThread(db, threadId)
  const refuse = (problem: string) => new ThreadConflictError(threadId, { problem })
  if (thread.parent_thread_id !== null)
    throw refuse(
      `Expected the root of a session to fork, got "${threadId}", a subagent of "${thread.parent_thread_id}", ` +
        `whose rules and variables bind it: fork "${thread.root_thread_id}".`,
    )
  if (thread.status === 'deleting')
    throw refuse(`Expected a thread to fork, got "${threadId}", which is being deleted.`)
  return thread
}

/** @throws MessageNotFoundError; ThreadConflictError for a message that has no place of its own, or is too far behind */
async function findCut(db: Reader, { origin, at, before }: Forking): Promise<TranscriptCut> {
  const id = at ?? before
  const cut =
    id === undefined
      ? await lastPlace(db, origin, null)
      : await lastPlace(db, origin, (await positionOf(db, origin, id)) - (at === undefined ? 1 : 0))
  if (cut.position <= LIMITS.forkedMessages) return cut
  const problem = `Expected at most ${LIMITS.forkedMessages} messages to fork, got ${cut.position}: give an earlier message as "at".`
  throw new ThreadConflictError(origin, { problem })
}

async function positionOf(db: Reader, threadId: string, messageId: string): Promise<number> {
  const place = await findPlace(db, threadId, messageId)
  if (place === null) throw new MessageNotFoundError(threadId, messageId)
  const refuse = (problem: string) => new ThreadConflictError(threadId, { problem, messageId })
  if (place.position === null)
    throw refuse(
      `Expected a message of the transcript, got "${messageId}", which is not delivered: wait for it.`,
    )
  if (place.depth > 0)
    throw refuse(
      `Expected a message of the transcript, got "${messageId}" of a nested step: give the one around it.`,
    )
  return place.position
}

async function agentOf(db: Reader, thread: ThreadRecord, { position }: TranscriptCut): Promise<string> {
  const [started] = await readEvents(db, { threadId: thread.id, after: 0, limit: 1 })
  const first = started?.type === 'thread.started' ? started.payload['agent'] : undefined
  return agentAt(db, {
    threadId: thread.id,
    position,
    first: typeof first === 'string' ? first : thread.agent,
  })
}

/** What a fork has of the row of its origin: its owner, and what binds it. */
function forkedRow(thread: ThreadRecord, { position }: TranscriptCut, now: Micros) {
  const { account, user_id, title, tags, metadata, workspace_uri, permissions, budgets } = thread
  return {
    ...{ account, user_id, title, tags, metadata, workspace_uri, permissions, budgets },
    ...{ created_at: now, last_position: position },
  }
}

async function originOf(db: Reader, thread: ThreadRecord, { position, messageId }: TranscriptCut) {
  const runs = Math.max((await lastRun(db, thread.id))?.number ?? 0, thread.forked_from?.runs ?? 0)
  return { forked_from: { threadId: thread.id, messageId, position, runs } }
}
