/**
 * Reads of sessions: lists, and one session in one answer of a bounded size.
 * Owns: the shapes that callers get.
 * Does not own: the state of a session (`store/threads/sessions.ts`), and the reads of its threads, which are those of `lists`.
 */
import type { FileRecord, Message } from '../protocol/message.js'
import { SESSION_STATES } from '../protocol/payloads/sessions.js'
import type { SessionState } from '../protocol/payloads/sessions.js'
import type { StopReason, ThreadUsage } from '../protocol/status.js'
import { utf8Length } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import { ConfigError, ThreadConflictError } from '../protocol/errors.js'
import { listMessages } from '../store/messages/transcript.js'
import type { Reader } from '../store/store.js'
import type { Escalation } from '../store/threads/session-state.js'
import {
  countTree,
  listActive,
  listKept,
  listNewestFiles,
  listSessions,
  sessionStates,
} from '../store/threads/sessions.js'
import type { ThreadCursor, ThreadRecord } from '../store/threads/threads.js'
import { runIdOf } from '../protocol/ids.js'
import { lastRun, outputOf } from '../store/threads/runs.js'
import type { RunRecord } from '../store/threads/runs.js'
import { findThread } from '../store/threads/threads.js'
import { requireThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { checkLimit, cursorOf, listThreadsPage, readThreadCursor } from './lists/list-threads.js'
import type { PageOptions, ThreadsPage } from './lists/list-threads.js'
import { readUsage } from './lists/thread-usage.js'

/** A session in a list. Times are microseconds since 1970. */
export interface SessionSummary {
  /** The id of its root thread. */
  readonly sessionId: string
  readonly state: SessionState
  /** Of its root thread. */
  readonly agent: string
  readonly title: string | null
  readonly tags: readonly string[]
  readonly workspaceUri: string | null
  /** The tenant. */
  readonly account: string | null
  readonly userId: string | null
  readonly createdAt: number
  /** Of its root thread: exact at the end of a run, up to a minute behind during a run. */
  readonly lastActivityAt: number
  readonly closedAt: number | null
  readonly archivedAt: number | null
  /** Null: no person has taken over. */
  readonly escalation: Escalation | null
  /** The sequence of the newest event of its root thread: `events({ after })` goes on from here. */
  readonly lastSequence: number
}

/** A session in one answer of a bounded size. What it does not have is named, and where the rest is read. */
export interface Session extends SessionSummary {
  readonly metadata: JsonObject | null
  /** The threads that work or are about to, at most 100. */
  readonly activeThreads: readonly string[]
  /** Threads cannot be pinned. */
  readonly pinnedThreads: 'unavailable'
  readonly threadCount: number
  /** The 50 threads of it with the newest activity, the root among them; `threads.page({ root }, { cursor: next })` has the rest. */
  readonly threads: ThreadsPage
  /** The newest messages of its root thread: at most 20, and at most 256 KB; `messages({ before })` has those before them. */
  readonly messages: readonly Message[]
  /** The newest run of its root thread; null before the first one. */
  readonly lastRun: SessionRun | null
  /** The variables of its root thread, by name, without their values; at most 100. */
  readonly variables: readonly { readonly name: string; readonly type: string }[]
  /** The keys of the values that tools of its root thread keep (`state.setValue`), at most 100. */
  readonly values: readonly string[]
  /** The 20 newest files of its threads. */
  readonly artifacts: readonly SessionFile[]
  /** There are no tasks beside threads. */
  readonly tasks: 'unavailable'
  readonly evidence: 'unavailable'
  /** What all of its threads have used; null unless it was asked for. */
  readonly usage: ThreadUsage | null
  /** It is what the store has at one moment, and no copy of that. */
  readonly stale: false
  /** True: there are more than are shown. */
  readonly truncated: { readonly threads: boolean; readonly messages: boolean; readonly artifacts: boolean }
}

/** What is recorded of a run. */
export interface SessionRun {
  readonly runId: string
  /** What began it, such as `message`. */
  readonly trigger: string
  readonly steps: number
  readonly startedAt: number
  /** Null: it has not ended. */
  readonly endedAt: number | null
  readonly reason: StopReason | null
  /** As in the result of a run. */
  readonly output: JsonObject | null
}

/** A file of one of the threads of a session. */
export type SessionFile = Pick<FileRecord, 'path' | 'name' | 'mimeType' | 'size' | 'updatedAt'> & {
  readonly threadId: string
}

/** The filter of a list of sessions; a field that is left out matches all. */
export interface ListSessions {
  readonly state?: SessionState
  readonly tag?: string
  readonly userId?: string
  readonly account?: string
  /** The agent of the root thread. */
  readonly agent?: string
  /** A text that the title, the id, the agent or the user contains; ASCII letters in either case. It reads all sessions that match the rest. */
  readonly search?: string
}

export interface SessionsPage {
  readonly sessions: readonly SessionSummary[]
  /** `cursor` of the next page; null on the last one. A page of a rare state may have less than `limit` and yet a next one. */
  readonly next: string | null
}

/** @throws ConfigError for a cursor that is none, a limit that cannot be, or a state that there is not */
export async function listSessionsPage(
  context: ClientContext,
  filter: ListSessions,
  { cursor, limit }: PageOptions,
): Promise<SessionsPage> {
  const after: ThreadCursor | null = cursor === undefined ? null : readThreadCursor(cursor)
  const size = checkLimit(limit)
  const { state } = filter
  if (state !== undefined && !SESSION_STATES.includes(state))
    throw new ConfigError([`Expected "state" to be one of ${SESSION_STATES.join(', ')}, got "${state}".`])
  const store = await context.store()
  const { sessions, next } = await store.read((db) => listSessions(db, { filter, after, limit: size }))
  return {
    sessions: sessions.map(({ root, state }) => toSummary(root, state)),
    next: next === null ? null : cursorOf([next.lastActivityAt, next.id]),
  }
}

/** The root of a session. @throws ThreadNotFoundError; ThreadConflictError for a subagent */
export async function requireSession(db: Reader, sessionId: string): Promise<ThreadRecord> {
  const root = await requireThread(db, sessionId)
  const problem = `Expected the id of a session, which is that of a root thread, got a subagent of "${root.root_thread_id}": use that id.`
  if (root.root_thread_id !== sessionId) throw new ThreadConflictError(sessionId, { problem })
  return root
}

export async function summarize(db: Reader, root: ThreadRecord): Promise<SessionSummary> {
  return toSummary(root, (await sessionStates(db, [root])).get(root.id) ?? root.session_state)
}

function toSummary(root: ThreadRecord, state: SessionState): SessionSummary {
  return {
    ...{ sessionId: root.id, state, agent: root.agent, title: root.title, tags: root.tags },
    ...{ workspaceUri: root.workspace_uri, account: root.account, userId: root.user_id },
    ...{ createdAt: root.created_at, lastActivityAt: root.last_activity_at, closedAt: root.closed_at },
    ...{ archivedAt: root.archived_at, escalation: root.escalation, lastSequence: root.last_sequence },
  }
}

export interface ReadSession {
  /** With what all of its threads have used, which reads all of their operations. @default false */
  readonly usage?: boolean
}

const THREADS = 50
const ACTIVE_THREADS = 100
const MESSAGES = 20
const MESSAGE_BYTES = 256 * 1024
const FILES = 20
const NAMES = 100

/** Reads a session from the store, whatever its state; null if there is none. @throws ThreadConflictError for a subagent */
export async function readSession(
  context: ClientContext,
  sessionId: string,
  { usage = false }: ReadSession,
): Promise<Session | null> {
  const store = await context.store()
  if ((await store.read((db) => findThread(db, sessionId))) === null) return null
  const threads = await listThreadsPage(context, { root: sessionId }, { limit: THREADS })
  const used = usage ? await readUsage(context, sessionId, { tree: true }) : null
  return store.read(async (db) => {
    const root = await requireSession(db, sessionId)
    const active = await listActive(db, [sessionId])
    const page = await listMessages(db, { threadId: sessionId, limit: MESSAGES })
    const messages = newestThatFit(page.messages)
    const files = await listNewestFiles(db, sessionId, FILES + 1)
    return {
      ...(await summarize(db, root)),
      metadata: root.metadata,
      activeThreads: active
        .filter(({ entry }) => entry !== 'deferred')
        .map(({ id }) => id)
        .slice(0, ACTIVE_THREADS),
      pinnedThreads: 'unavailable',
      threadCount: await countTree(db, sessionId),
      threads,
      messages,
      lastRun: toRun(await lastRun(db, sessionId)),
      ...(await listKept(db, sessionId, NAMES)),
      artifacts: files.slice(0, FILES),
      ...{ tasks: 'unavailable', evidence: 'unavailable' },
      usage: used,
      stale: false,
      truncated: {
        threads: threads.next !== null,
        messages: page.hasMore || messages.length < page.messages.length,
        artifacts: files.length > FILES,
      },
    }
  })
}

function toRun(run: RunRecord | null): SessionRun | null {
  if (run === null) return null
  const { number, trigger_kind: trigger, steps, started_at: startedAt, ended_at: endedAt, reason } = run
  return { runId: runIdOf(number), trigger, steps, startedAt, endedAt, reason, output: outputOf(run) }
}

/** The newest messages that fit in all; the newest one, whatever its size. */
function newestThatFit(messages: readonly Message[]): readonly Message[] {
  let bytes = 0
  const from = messages.findLastIndex((message) => {
    bytes += utf8Length(JSON.stringify(message))
    return bytes > MESSAGE_BYTES
  })
  return messages.slice(Math.min(from + 1, messages.length - 1))
}
