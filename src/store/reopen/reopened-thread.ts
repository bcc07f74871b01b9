/**
 * Owns: the state with which a lost thread is reopened, and the end of what was in flight in it.
 *
 * Does not own: whether a thread is lost (the client queries Temporal), and how the workflow goes on (`reopenThread` of
 * `thread/continue-as-new.ts`).
 *
 * Invariants:
 * - T4: every number is above those in use, so nothing that finished runs again, and no stale attempt can commit.
 * - The state comes from columns: what the last settle recorded, what operations of later runs committed, and rows of
 *   children, effects, requests and messages. No text is searched.
 */
import { runIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ReopenedThread } from '../../protocol/messages.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import type { LastRun } from '../../protocol/status.js'
import { closeOpenCalls } from '../calls/open-calls.js'
import { deferredChildOf, listOpenRequests } from '../calls/requests.js'
import { unpackEvents } from '../event-rows.js'
import { appendEvents } from '../events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { highestNumbers } from '../operations.js'
import type { Reader, Writer } from '../store.js'
import { findChild, listChildren } from '../threads/children.js'
import { listScheduledEffects } from '../threads/effects.js'
import { endOpenRuns, lastRun } from '../threads/runs.js'
import type { RunRecord } from '../threads/runs.js'
import { findThread } from '../threads/threads.js'
import type { ThreadRecord } from '../threads/threads.js'
import { readReopenedChildren, readReports, listMessageCalls } from './reopened-children.js'
import type { Micros, Millis } from '../../protocol/time.js'
import { toMillis } from '../../protocol/time.js'

interface Reopening {
  /** A run was in flight, and `endLostRun` has ended it. */
  readonly cut: boolean
  readonly now: Micros
}

/**
 * The control state that a lost thread goes on with, once what was in flight is ended: what its last settle recorded, what
 * was committed since, and what other rows hold.
 */
export async function readReopened(
  db: Reader,
  thread: ThreadRecord,
  { cut, now }: Reopening,
): Promise<ReopenedThread> {
  const { id, settled } = thread
  const run = await lastRun(db, id)
  const numbers = await highestNumbers(db, id)
  const children = await listChildren(db, id)
  const effects = await listScheduledEffects(db, id)
  // An earlier reopening that ended after it wrote its rows has recorded the side that acts next.
  const wasCut = cut || settled?.side !== undefined
  const request = wasCut ? null : await findBlockingRequest(db, id)
  const goesOn = wasCut && run !== null && !(await hasEnded(db, thread, run))
  const parked = !wasCut && (thread.status === 'stopped' || thread.status === 'blocked')
  return {
    ...(await findActingAgent(db, thread)),
    ...(await readReopenedChildren(db, id, children)),
    ...(await readChildState(db, thread)),
    runs: Math.max(numbers.runs, run?.number ?? 0, thread.forked_from?.runs ?? 0),
    settles: numbers.settles,
    // Items are numbered more slowly than milliseconds pass, so the time is above every number in use.
    items: toMillis(now),
    children: children.length,
    effects: effects.slice(0, LIMITS.effects).map((effect) => [effect.id, toMillis(effect.due_at)] as const),
    ...(goesOn && { side: (!cut && settled?.side) || (await findActingSide(db, id)) }),
    ...(parked && { stopped: true as const }),
    ...(request === null ? {} : { request }),
    ...(run?.ended_at == null ? {} : { lastRun: lastRunOf(run, run.ended_at) }),
  }
}

function lastRunOf({ number, reason, steps }: RunRecord, endedAt: Micros): LastRun<Millis> {
  return { runId: runIdOf(number), reason: reason ?? 'lost', steps, endedAt: toMillis(endedAt) }
}

/** Whether the session of the run has ended: its report is stored, or, for a root thread, a session tool ended it. */
async function hasEnded(
  db: Reader,
  thread: ThreadRecord,
  { number, started_at: at }: RunRecord,
): Promise<boolean> {
  if (thread.parent_thread_id !== null) return (await readReports(db, thread.id)).at >= at
  const ended = await db
    .selectFrom('tool_calls')
    .select('id')
    .where('thread_id', '=', thread.id)
    .where('run', '=', number)
    .where('session', 'is not', null)
    .executeTakeFirst()
  return ended !== undefined
}

async function findBlockingRequest(
  db: Reader,
  threadId: string,
): Promise<NonNullable<ReopenedThread['request']> | null> {
  const open = await listOpenRequests(db, { threadId, limit: LIMITS.openChildren })
  const request = open.find((candidate) => candidate.call_id === null && deferredChildOf(candidate) === null)
  return request === undefined ? null : { id: request.id, requestedAt: toMillis(request.requested_at) }
}

type ChildState = Pick<ReopenedThread, 'reports' | 'invocations' | 'report'>

/** The calls of the parent that the child has not answered, and its last report. A parent that recorded the loss gets neither. */
async function readChildState(db: Reader, thread: ThreadRecord): Promise<ChildState> {
  const { id, parent_thread_id: parentThreadId } = thread
  const reported = await readReports(db, id)
  const reports = reported.count
  if (parentThreadId === null) return { reports, invocations: [] }
  const entry = await findChild(db, parentThreadId, id)
  if (entry !== null && entry.closed_at !== null && reported.last?.closes !== true)
    return { reports, invocations: [] }
  const invocations = await listTakenCalls(db, thread, reported.answered)
  return { reports, invocations, ...(reported.last !== null && { report: reported.last }) }
}

/** Unanswered calls whose message is in the transcript. A queued message brings its call with its signal. */
async function listTakenCalls(
  db: Reader,
  thread: ThreadRecord,
  answered: ReadonlySet<string>,
): Promise<readonly string[]> {
  const given = await listGivenCalls(db, thread)
  const open = given.filter(({ callId }) => !answered.has(callId))
  const taken: string[] = []
  for (const { callId, messageId } of open)
    if (messageId === null || (await isPlaced(db, thread.id, messageId))) taken.push(callId)
  return taken.slice(-LIMITS.invocations)
}

type ChildOf = Pick<ThreadRecord, 'id' | 'parent_thread_id' | 'parent_call_id'>

/** All calls of the parent to this thread, each with its message here. The first one started the thread. */
export async function listGivenCalls(
  db: Reader,
  { id, parent_thread_id: parentThreadId, parent_call_id: firstCall }: ChildOf,
): Promise<readonly { readonly callId: string; readonly messageId: string | null }[]> {
  if (parentThreadId === null || firstCall === null) return []
  const written = (await listMessageCalls(db, parentThreadId)).filter(({ reference }) => reference === id)
  const messageId = (await findChild(db, parentThreadId, id))?.message_id ?? null
  return [{ callId: firstCall, messageId }, ...written]
}

async function isPlaced(db: Reader, threadId: string, messageId: string): Promise<boolean> {
  const message = await db
    .selectFrom('messages')
    .select(['position', 'status'])
    .where('thread_id', '=', threadId)
    .where('id', '=', messageId)
    .executeTakeFirst()
  return message === undefined || message.position !== null || message.status !== 'pending'
}

interface ActingAgent {
  readonly agent: string
  /** Sides whose prompts have been active under this agent. */
  readonly activated: readonly Side[]
}

/** The agent of the thread and its active sides: those of the last settle, updated by what later runs committed. */
async function findActingAgent(db: Reader, { id, agent, settled }: ThreadRecord): Promise<ActingAgent> {
  const { run = 0, agent: settledAgent = agent, activated = [] } = settled ?? {}
  const start: ActingAgent = { agent: settledAgent, activated }
  return (await readCommittedSince(db, id, run)).reduce(applyCommitted, start)
}

interface Committed {
  readonly kind: string
  readonly side: string | null
  readonly answer: { readonly type?: string; readonly operations?: readonly ThreadOperation[] } | null
}

/** What later runs committed, in the order of their steps; within a step the activation, the answer of the model, its calls. */
async function readCommittedSince(db: Reader, threadId: string, run: number): Promise<readonly Committed[]> {
  const rows = await db
    .selectFrom('operations')
    .select(['kind', 'side', 'answer'])
    .where('thread_id', '=', threadId)
    .where('run', '>', run)
    .where('state', '=', 'finished')
    .where((where) =>
      where.or([
        where('kind', 'in', ['activation', 'tool']),
        // A nested step activates no side.
        where.and([where('kind', '=', 'model'), where('key', 'is', null)]),
      ]),
    )
    .orderBy('run')
    .orderBy('step')
    .orderBy('kind')
    // Of several handoffs in a step the first one counts, so it is applied last.
    .orderBy('finished_at', 'desc')
    .execute()
  // Written by the activities of a step: the store's boundary.
  return rows.map((row) => ({ ...row, answer: JSON.parse(row.answer ?? 'null') as Committed['answer'] }))
}

/** Types of answers after which the prompt of the side counts as active in the workflow. */
const ACTIVATING: ReadonlySet<string> = new Set(['activates', 'answered', 'interrupted'])

/** The same rules as in the workflow: after a handoff no prompt of the new agent has been active. */
function applyCommitted(acting: ActingAgent, { kind, side, answer }: Committed): ActingAgent {
  const handOff = answer?.operations?.find((operation) => operation.kind === 'hand_off')
  if (handOff !== undefined) return { agent: handOff.agent, activated: [] }
  if (
    kind === 'tool' ||
    !ACTIVATING.has(answer?.type ?? '') ||
    (side !== 'a' && side !== 'b') ||
    acting.activated.includes(side)
  )
    return acting
  return { ...acting, activated: [...acting.activated, side] }
}

/**
 * The side whose turn it is, by the last top-level message: a result is for the side of the call, an answer without calls for
 * the other side, and a message from outside for the side that it does not speak as.
 */
async function findActingSide(db: Reader, threadId: string): Promise<Side> {
  const last = await db
    .selectFrom('messages')
    .select(['role', 'side', 'sent_by', 'tool_calls'])
    .where('thread_id', '=', threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where('role', '!=', 'system')
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (last === undefined) return 'a'
  const { role, side, sent_by: sentBy, tool_calls: calls } = last
  if (side !== 'a' && side !== 'b') return role === 'assistant' ? 'b' : 'a'
  const isDone = sentBy === 'model' && calls === null
  if (!isDone) return side
  // A thread with one side treats both names as that side.
  return side === 'a' ? 'b' : 'a'
}

interface CutRun {
  readonly threadId: string
  /** The sequence of the last event before Temporal was queried: a later event shows that a worker is active. */
  readonly sequence: number
  readonly now: Micros
}

/**
 * Ends what was in flight in a lost thread: open calls get a result, so that the transcript stays valid for a provider, and no
 * stale attempt can commit (T4). `cut`: an open run was ended. `idle`: no run was open. `busy`: the thread has changed since
 * `sequence`, and nothing was written.
 */
export async function endLostRun(
  tx: Writer,
  { threadId, sequence, now }: CutRun,
): Promise<'cut' | 'idle' | 'busy'> {
  const thread = await findThread(tx, threadId)
  if (thread?.last_sequence !== sequence) return 'busy'
  // An effect runs at least once in code and exactly once in effect: nothing of it is committed, so it runs again.
  await tx
    .deleteFrom('operations')
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'effect')
    .where('state', '!=', 'finished')
    .execute()
  await closeOpenCalls(tx, { threadId, outcome: 'interrupted', now })
  const runs = await endOpenRuns(tx, {
    ...{ threadId, reason: 'lost', outcome: 'failed' },
    // It goes on with a run of its new workflow.
    ...{ status: 'running', now },
  })
  const events = [...runs, ...(await reopeningFacts(tx, threadId))]
  await appendEvents(tx, { threadId, events, now })
  return runs.length === 0 ? 'idle' : 'cut'
}

/** Of several concurrent reopenings only one appends the event. */
async function reopeningFacts(db: Reader, threadId: string): Promise<readonly Fact[]> {
  const last = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'scope', 'events'])
    .where('thread_id', '=', threadId)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const type = last && unpackEvents(last).at(-1)?.type
  return type === 'thread.reopened' ? [] : [fact('thread.reopened', {})]
}
