/**
 * Commands that change a session. Each may be repeated without harm: what a session is already changes nothing and is no event.
 * Owns: `threads.sessions`, which session may be changed how, and the event of a change.
 * Does not own: reads (`read-session.ts`), the end of sessions that nobody uses (`retention`).
 * Invariants:
 * C1: an archived session takes nothing more, so only one is archived of which nothing runs, waits or is scheduled.
 * C2: a change is an event in its own transaction, unless the log of the root thread has ended.
 */
import { isDeepStrictEqual } from 'node:util'
import { ConfigError, ThreadConflictError, ThreadTerminatedError } from '../../protocol/errors.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SessionField, SessionUpdated } from '../../protocol/payloads/sessions.js'
import { nowMicros } from '../../protocol/time.js'
import { halfCharacterProblem, utf8Length } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { isOpen, requireNotArchived } from '../../store/threads/open-threads.js'
import { readSessionWork } from '../../store/threads/sessions.js'
import { findThread, setTags, updateThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ClientContext } from '../client-context.js'
import type { PageOptions } from '../lists/list-threads.js'
import { deleteThread } from '../retention/delete-thread.js'
import type { DeletedThread, DeleteThread } from '../retention/delete-thread.js'
import { listSessionsPage, readSession, requireSession, summarize } from '../read-session.js'
import type { ListSessions, ReadSession, Session, SessionsPage, SessionSummary } from '../read-session.js'
import { sessionFieldProblems } from './session-fields.js'
import type { SessionFields } from './session-fields.js'

/** To whom a session is handed over, and why. */
export interface EscalateSession {
  /** A person or a queue of your own: 1 to 200 characters. */
  readonly to?: string
  /** At most 4 KB. */
  readonly reason?: string
}

/** Sessions: root threads, each with all threads below it. The id of a session is that of its root thread. */
export interface Sessions {
  /** Reads a session in one answer of a bounded size, also one that is closed; null: there is none. @throws ThreadConflictError for a subagent */
  get(sessionId: string, options?: ReadSession): Promise<Session | null>
  /** Reads a page of sessions, the newest activity first. @throws ConfigError for a cursor that is none */
  list(filter?: ListSessions, options?: PageOptions): Promise<SessionsPage>
  /** Changes the fields that are given; null removes one. @throws ConfigError, ThreadNotFoundError, ThreadConflictError */
  update(sessionId: string, fields: SessionFields): Promise<SessionSummary>
  /**
   * Keeps a session as it is: its threads take nothing more until `unarchive`.
   * @throws ThreadConflictError while something of it runs, waits or is scheduled; ThreadNotFoundError
   */
  archive(sessionId: string): Promise<SessionSummary>
  /** @throws ThreadNotFoundError, ThreadConflictError */
  unarchive(sessionId: string): Promise<SessionSummary>
  /**
   * Says that a person has taken over. It stops nothing: `stop` does, and a message that follows wakes the agent.
   * @throws ConfigError, ThreadNotFoundError, ThreadTerminatedError, ThreadConflictError
   */
  escalate(sessionId: string, options?: EscalateSession): Promise<SessionSummary>
  /** Takes an escalation back. @throws ThreadNotFoundError, ThreadConflictError */
  resolve(sessionId: string): Promise<SessionSummary>
  /** Deletes all threads of a session for good, as `deleteThread` does. @throws ThreadConflictError while one is open */
  purge(sessionId: string, options?: DeleteThread): Promise<DeletedThread>
}

export function createSessions(context: ClientContext): Sessions {
  return {
    get: (sessionId, options = {}) => readSession(context, sessionId, options),
    list: (filter = {}, options = {}) => listSessionsPage(context, filter, options),
    update: (sessionId, fields) => updateSession(context, sessionId, fields),
    archive: (sessionId) => archiveSession(context, sessionId),
    unarchive: (sessionId) => unarchiveSession(context, sessionId),
    escalate: (sessionId, options = {}) => escalateSession(context, sessionId, options),
    resolve: (sessionId) => resolveSession(context, sessionId),
    async purge(sessionId, options = {}) {
      const store = await context.store()
      await store.read(async (db) => {
        // The next call finishes a deletion that was interrupted, and does nothing after the last row.
        if ((await findThread(db, sessionId)) !== null) await requireSession(db, sessionId)
      })
      return deleteThread(context, sessionId, options)
    },
  }
}

type Change = (tx: Writer, root: ThreadRecord) => Promise<SessionUpdated | null>

/** Makes a change with its event, and reads what the session is then. */
async function change(context: ClientContext, sessionId: string, make: Change): Promise<SessionSummary> {
  const store = await context.store()
  return store.write(async (tx) => {
    const root = await requireSession(tx, sessionId)
    const updated = await make(tx, root)
    if (updated === null) return summarize(tx, root)
    if (root.closed_at === null) {
      const events = [fact('session.updated', updated)]
      // It is no activity of the conversation: a sweep would take it for one.
      await appendEvents(tx, { threadId: sessionId, events, now: nowMicros(), movesActivity: false })
    }
    return summarize(tx, await requireSession(tx, sessionId))
  })
}

/** @throws ConfigError, ThreadNotFoundError, ThreadConflictError */
async function updateSession(
  context: ClientContext,
  sessionId: string,
  fields: SessionFields,
): Promise<SessionSummary> {
  const problems = sessionFieldProblems(fields)
  if (problems.length > 0) throw new ConfigError(problems)
  return change(context, sessionId, async (tx, root) => {
    const { title, tags, metadata, workspaceUri } = fields
    const changed: readonly SessionField[] = [
      ...(title === undefined || title === root.title ? [] : (['title'] as const)),
      ...(tags === undefined || isDeepStrictEqual([...new Set(tags)], root.tags) ? [] : (['tags'] as const)),
      ...(metadata === undefined || isDeepStrictEqual(asStored(metadata), root.metadata)
        ? []
        : (['metadata'] as const)),
      ...(workspaceUri === undefined || workspaceUri === root.workspace_uri
        ? []
        : (['workspaceUri'] as const)),
    ]
    if (changed.length === 0) return null
    await updateThread(tx, sessionId, {
      title: title === undefined ? root.title : title,
      metadata: metadata === undefined ? root.metadata : metadata,
      workspace_uri: workspaceUri === undefined ? root.workspace_uri : workspaceUri,
    })
    if (tags !== undefined && changed.includes('tags')) await setTags(tx, sessionId, tags)
    return { changed }
  })
}

/** As the store has it: without what is undefined. */
function asStored(metadata: SessionFields['metadata']): unknown {
  return JSON.parse(JSON.stringify(metadata))
}

/** @throws ThreadNotFoundError; ThreadConflictError while something of it runs, waits or is scheduled */
function archiveSession(context: ClientContext, sessionId: string): Promise<SessionSummary> {
  return change(context, sessionId, async (tx, root) => {
    if (root.archived_at !== null) return null
    const what = await whatIsLeft(tx, root)
    if (what !== null) {
      const problem = `Expected a session of which nothing is left to do, got one ${what}: stop or terminate it first.`
      throw new ThreadConflictError(sessionId, { problem })
    }
    await updateThread(tx, sessionId, { archived_at: nowMicros() })
    return { changed: ['archived'], archived: true }
  })
}

async function whatIsLeft(tx: Writer, root: ThreadRecord): Promise<string | null> {
  const { state, hasMessages, hasEffects, requests } = await readSessionWork(tx, root)
  if (state === 'active') return 'that works'
  if (root.closed_at !== null) return null
  if (!isOpen(root)) return 'that is being terminated'
  if (requests.length > 0) return 'that waits for an answer'
  if (hasMessages) return 'with a message that waits'
  return hasEffects ? 'with a scheduled effect' : null
}

/** @throws ThreadNotFoundError, ThreadConflictError */
function unarchiveSession(context: ClientContext, sessionId: string): Promise<SessionSummary> {
  return change(context, sessionId, async (tx, root) => {
    if (root.archived_at === null) return null
    await updateThread(tx, sessionId, { archived_at: null })
    return { changed: ['archived'], archived: false }
  })
}

/** @throws ConfigError, ThreadNotFoundError, ThreadTerminatedError; ThreadConflictError for an archived session */
async function escalateSession(
  context: ClientContext,
  sessionId: string,
  { to = null, reason = null }: { readonly [Name in keyof EscalateSession]: EscalateSession[Name] | null },
): Promise<SessionSummary> {
  const problems = [
    wordProblem('to', to, LIMITS.threadIdLength),
    wordProblem('reason', reason, LIMITS.answerTextBytes),
  ].filter((problem) => problem !== undefined)
  if (problems.length > 0) throw new ConfigError(problems)
  return change(context, sessionId, async (tx, root) => {
    if (!isOpen(root)) throw new ThreadTerminatedError(sessionId, root.status)
    await requireNotArchived(tx, root)
    const before = root.escalation
    if (before !== null && before.to === to && before.reason === reason) return null
    await updateThread(tx, sessionId, { escalation: { to, reason, at: nowMicros() } })
    return { changed: ['escalated'], escalated: true }
  })
}

function wordProblem(name: string, value: unknown, most: number): string | undefined {
  if (value === null) return undefined
  if (typeof value !== 'string' || value.trim() === '' || utf8Length(value) > most)
    return `Expected "${name}" to be a text of 1 to ${most} bytes, got another.`
  return halfCharacterProblem(`"${name}"`, value)
}

/** @throws ThreadNotFoundError, ThreadConflictError */
function resolveSession(context: ClientContext, sessionId: string): Promise<SessionSummary> {
  return change(context, sessionId, async (tx, root) => {
    if (root.escalation === null) return null
    await updateThread(tx, sessionId, { escalation: null })
    return { changed: ['escalated'], escalated: false }
  })
}
