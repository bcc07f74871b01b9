import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import { ConfigError, WaitTimeoutError } from '../../protocol/errors.js'
import { runIdOf } from '../../protocol/ids.js'
import type { Message } from '../../protocol/message.js'
import type { RunSnapshot, StopReason, ThreadStatus } from '../../protocol/status.js'
import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest } from '../../store/calls/request-lists.js'
import { lastSequence, readEvents } from '../../store/events.js'
import { lastReply } from '../../store/messages/transcript.js'
import type { Reader, Store } from '../../store/store.js'
import { lastRun } from '../../store/threads/runs.js'
import type { RunUsage, SessionEnd } from '../../store/threads/runs.js'
import { openThreadsBelow, threadsFrom } from '../../store/threads/thread-tree.js'
import type { ThreadNode } from '../../store/threads/thread-tree.js'
import { requireThread } from '../client-context.js'
import type { ClientContext, OnNotice } from '../client-context.js'
import { readSnapshot, SNAPSHOT_QUERY_TIMEOUT } from '../read-snapshot.js'
import type { Look, ThreadSnapshot } from '../read-snapshot.js'
import { explainSilence, forgetWait, reportWait } from './notices.js'

/** How long `waitUntilIdle()` waits. */
export interface WaitUntilIdle {
  /** @default '1 minute' */
  readonly timeout?: Duration
  /** Until all threads below it are idle or closed, too. @default false */
  readonly children?: boolean
  /** Is told within 3 s why a thread does not go on; the wait keeps its deadline. @default that of the client */
  readonly onNotice?: OnNotice
}

/** The settling commit comes a few milliseconds before the workflow is idle: asked again soon, then ever more rarely. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 2_000
/** A query that meets a workflow which continues as new may be lost: asked again soon, and a cold one gets all its time. */
const FIRST_PATIENCE = 250
/** Until then a look or a pause takes a second at most, so that notices come within three (see `notices.ts`). */
const EARLY = 3_000
const LONGEST_EARLY = 1_000
/** Events that end a run or a thread. */
const ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled', 'thread.closed'])

/**
 * Waits until nothing is queued and nothing runs, with `children` nowhere below it either. The workflows themselves
 * decide, by a query that sees every acknowledged message; the event log only says when to ask again.
 * @throws WaitTimeoutError, ThreadNotFoundError
 */
export async function waitUntilIdle(
  context: ClientContext,
  threadId: string,
  options: WaitUntilIdle,
): Promise<RunResult> {
  const timeout = milliseconds(options.timeout ?? '1 minute')
  const children = options.children === true
  const store = await context.store()
  const began = Date.now()
  const until = began + timeout
  const longest = (usual: number): number => (Date.now() - began < EARLY ? LONGEST_EARLY : usual)
  let pause = FIRST_PAUSE
  let patience = FIRST_PATIENCE
  let earlier: TreeLook | null = null
  for (;;) {
    // The last look has no time left, and would take a worker that answers for a silent one.
    const left = Math.max(FIRST_PATIENCE, until - Date.now())
    const looking = { threadId, children, patience: Math.min(patience, left) }
    const tree = await lookAt(context, looking)
    const busy = findBusy(tree)
    if (busy === undefined) forgetWait(context, threadId)
    else await reportWait(context, busy, options.onNotice ?? context.onNotice)
    if (busy === undefined && (!children || isUnchanged(earlier, tree)))
      return store.read((db) => readRunResult(db, threadId, tree.top.snapshot.status))
    earlier = tree
    patience =
      busy?.silent === true ? Math.min(patience * 2, longest(SNAPSHOT_QUERY_TIMEOUT)) : FIRST_PATIENCE
    if (Date.now() >= until) throw await timeoutError(context, { threadId, busy: busy ?? tree.top }, timeout)
    if (busy === undefined) continue
    const { snapshot, before } = busy
    const wait = { threadId: snapshot.threadId, sequence: before }
    const ended = await waitForRunEnd(store, { ...wait, until: Math.min(until, Date.now() + pause) })
    pause = ended ? FIRST_PAUSE : Math.min(pause * 2, longest(LONGEST_PAUSE))
  }
}

interface Looking {
  readonly threadId: string
  readonly children: boolean
  readonly patience: number
}

async function lookAt(context: ClientContext, { threadId, children, patience }: Looking): Promise<TreeLook> {
  const store = await context.store()
  const before = await store.read((db) => lastSequence(db, threadId))
  const look = await readSnapshot(context, threadId, patience)
  if (children && isIdle(look)) return lookAtTree(context, { ...look, before }, patience)
  // What its subagents owe it is another matter.
  const top = { ...look, owed: [], before }
  return { top, all: new Map([[threadId, top]]) }
}

interface RunEndWait {
  readonly threadId: string
  readonly sequence: number
  readonly until: number
}

/** True as soon as an event after that sequence ends a run; false when the time is over. */
async function waitForRunEnd(store: Store, wait: RunEndWait): Promise<boolean> {
  const watch = watchThread(store, wait.threadId)
  let after = wait.sequence
  try {
    for (;;) {
      watch.reset()
      const events = await store.read((db) => readEvents(db, { threadId: wait.threadId, after, limit: 100 }))
      if (events.some(({ type }) => ENDS.has(type))) return true
      after = events.at(-1)?.sequence ?? after
      if (Date.now() >= wait.until) return false
      if (events.length < 100) await watch.changed({ until: wait.until })
    }
  } finally {
    watch.end()
  }
}

async function timeoutError(
  context: ClientContext,
  { threadId, busy }: { readonly threadId: string; readonly busy: Look },
  timeout: number,
): Promise<WaitTimeoutError> {
  const { status, stale, threadId: busyId } = busy.snapshot
  const reason = busy.silent ? await explainSilence(context, busyId) : describeWork(busy.snapshot)
  const whose = busyId === threadId ? '' : `subagent ${busyId}: `
  const waiting = await describeWaitingBelow(context, threadId)
  return new WaitTimeoutError(threadId, { timeout, status, stale, reason: `${whose}${reason}${waiting}` })
}

function describeWork({ run, queue }: ThreadSnapshot): string {
  const waiting = queue.length === 0 ? '' : `, ${queue.length} queued`
  return run === null
    ? `no run yet${waiting}`
    : `${run.doing ?? 'between two actions'} in step ${stepOf(run)} of ${run.runId}${waiting}`
}

/** A step counts as soon as its model has answered. */
function stepOf({ doing, steps }: RunSnapshot): number {
  return doing !== null && /^model\b/.test(doing) ? steps + 1 : steps
}

function milliseconds(timeout: Duration): number {
  try {
    const number = msToNumber(timeout)
    if (number >= 0) return number
  } catch {
    // The sentence below says what was expected.
  }
  throw new ConfigError([
    `Expected "timeout" to be milliseconds or a text such as "1 minute", got ${JSON.stringify(timeout)}`,
  ])
}

/** Watches one thread for a reader that reads, then waits until there is more to read. */
interface ThreadWatch {
  /** Before each read: what is committed from here on ends the next `changed`. */
  reset(): void
  /** Returns when something was committed since `reset`, or when the time or the caller's patience is over. */
  changed(wait?: ChangeWait): Promise<void>
  end(): void
}

interface ChangeWait {
  /** Milliseconds of Date.now(). */
  readonly until?: number
  readonly signal?: AbortSignal | undefined
}

function watchThread(store: Store, threadId: string): ThreadWatch {
  let told = false
  let wake = (): void => undefined
  const end = store.watch(threadId, () => {
    told = true
    wake()
  })
  return {
    reset: () => void (told = false),
    async changed({ until, signal } = {}) {
      if (told || signal?.aborted === true) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        signal?.addEventListener('abort', wake, { once: true })
        if (until !== undefined) timer = setTimeout(wake, Math.max(0, until - Date.now()))
      })
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
    },
    end,
  }
}

/** So many are told in one sentence. */
const TOLD = 3
const PAGE = 100

/** The end of a sentence: which subagents below a thread wait for somebody, and for what; empty if none does. */
async function describeWaitingBelow(context: ClientContext, threadId: string): Promise<string> {
  const store = await context.store()
  const waiting = await store.read(async (db) => {
    const { root_thread_id: root } = await requireThread(db, threadId)
    const { requests } = await listRequests(db, { filter: { root }, limit: PAGE })
    const others = requests.filter(({ request }) => request.thread_id !== threadId)
    if (others.length === 0) return []
    const below = new Map((await threadsFrom(db, threadId)).map((thread) => [thread.id, thread]))
    return others.flatMap((listed) => {
      const thread = below.get(listed.request.thread_id)
      return thread === undefined ? [] : [describeRequest(thread, listed)]
    })
  })
  const more = waiting.length > TOLD ? [`${waiting.length - TOLD} more wait, too`] : []
  return [...waiting.slice(0, TOLD), ...more].map((sentence) => `; ${sentence}`).join('')
}

/** Names alone: the error may be logged (T5). */
function describeRequest({ id, agent }: ThreadNode, { request }: ListedRequest): string {
  const { kind, tool_name: tool, id: requestId } = request
  const what = { approval: 'leave to run', call: 'the result of', variables: 'variables' }[kind]
  return `subagent ${agent} (${id}) waits for ${what}${tool === null ? '' : ` ${tool}`} (request ${requestId})`
}

/** What came of a thread's last run. */
export interface RunResult {
  readonly status: ThreadStatus
  /** Null if the thread never ran; so are `reason`, `reply` and `session`. */
  readonly runId: string | null
  readonly reason: StopReason | null
  /** The last visible text of the run. */
  readonly reply: Message | null
  /** How a session tool ended the run, with its text and files. */
  readonly session: SessionEnd | null
  readonly steps: number
  /** Of the thread's newest event: `events({ after })` goes on from here. */
  readonly lastSequence: number
  /** Cost in millionths of a dollar; null when a price is unknown. */
  readonly usage: RunUsage
}

const NOTHING: RunUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }

async function readRunResult(db: Reader, threadId: string, status: ThreadStatus): Promise<RunResult> {
  const thread = await requireThread(db, threadId)
  const run = await lastRun(db, threadId)
  return {
    status,
    runId: run === null ? null : runIdOf(run.number),
    reason: run?.reason ?? null,
    reply: run === null ? null : await lastReply(db, { threadId, run: run.number }),
    session: run?.session ?? null,
    steps: run?.steps ?? 0,
    lastSequence: thread.last_sequence,
    usage: run?.usage ?? NOTHING,
  }
}

/** Queries at a time: each may wake a thread that a worker does not have in memory. */
const AT_A_TIME = 20

/** A look at one thread, and the sequence of its last event before it. */
export interface DatedLook extends Look {
  readonly before: number
}

/** A thread and the open ones below it, each at its own moment. */
export interface TreeLook {
  readonly top: DatedLook
  /** By thread id, the top too. */
  readonly all: ReadonlyMap<string, DatedLook>
}

/** Goes on below a thread that was looked at, until one is busy. */
async function lookAtTree(context: ClientContext, top: DatedLook, patience: number): Promise<TreeLook> {
  const store = await context.store()
  const open = await store.read((db) => openThreadsBelow(db, top.snapshot.threadId))
  const all = new Map([[top.snapshot.threadId, top]])
  for (let at = 0; at < open.length; at += AT_A_TIME) {
    const some = open.slice(at, at + AT_A_TIME).map(async ({ id, lastSequence }) => {
      const look = await readSnapshot(context, id, patience)
      all.set(id, { ...look, before: lastSequence })
      return look
    })
    if (!(await Promise.all(some)).every(isIdle)) break
  }
  return { top, all }
}

/** The first thread of a tree that is not idle, or whose subagent's report is on its way. */
export function findBusy({ all }: TreeLook): DatedLook | undefined {
  const looks = [...all.values()]
  const isOwed = (look: Look): boolean => look.owed.some((id) => mayReport(all.get(id)))
  return looks.find((look) => !isIdle(look)) ?? looks.find(isOwed)
}

/** One that was not looked at is closed: its report was made before. */
function mayReport(child: Look | undefined): boolean {
  return child === undefined || isReporting(child)
}

/**
 * Nothing happened in any thread from one look to the next: they were all idle at once, in between. Threads talk to each
 * other, so that one may have been woken by another after it was looked at.
 */
export function isUnchanged(earlier: TreeLook | null, later: TreeLook): boolean {
  return [...later.all].every(([id, { snapshot }]) => earlier?.all.get(id)?.before === snapshot.lastSequence)
}

/** Nothing is queued and nothing runs. Once stopped or closed a thread is idle, whatever waits in it. */
export function isIdle({ snapshot, silent }: Look): boolean {
  // Nobody who knows has answered: the recorded state may be older than the last message.
  if (silent) return false
  const { status, queue, stale } = snapshot
  // A workflow that says so is about to close; what it still writes belongs to the result.
  if (CLOSED.has(status)) return stale
  // Parked: what is queued waits for somebody.
  if (PARKED.has(status)) return true
  return queue.length === 0 && status !== 'running' && status !== 'waiting_resource'
}

/**
 * Whether an idle subagent whose answer is owed to its parent will bring it by itself: it has ended its work, and tells
 * so; or it was killed, and its parent will find it. One that waits for somebody, or has yet to take the call, will not.
 */
export function isReporting({ snapshot: { status, queue, pending } }: Look): boolean {
  if (status === 'lost') return true
  if (status === 'stopped' || status === 'blocked') return queue.length === 0
  return pending.length === 0
}

const CLOSED: ReadonlySet<string> = new Set(['completed', 'failed', 'terminated'])
const PARKED: ReadonlySet<string> = new Set(['stopped', 'blocked', 'lost'])
