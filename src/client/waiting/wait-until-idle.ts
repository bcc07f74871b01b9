import { setTimeout as sleep } from 'node:timers/promises'
import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import { ConfigError, WaitTimeoutError } from '../../protocol/errors.js'
import type { RunSnapshot } from '../../protocol/status.js'
import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest } from '../../store/calls/request-lists.js'
import { listOpenRequests } from '../../store/calls/requests.js'
import { countChanges } from '../../store/changes.js'
import { lastSequence, readEvents } from '../../store/events.js'
import { countUndelivered } from '../../store/messages/message-writes.js'
import type { Reader, Store } from '../../store/store.js'
import { isOpen } from '../../store/threads/open-threads.js'
import { lastRun } from '../../store/threads/runs.js'
import { openThreadsBelow, threadsFrom } from '../../store/threads/thread-tree.js'
import type { ThreadNode } from '../../store/threads/thread-tree.js'
import { requireThread } from '../client-context.js'
import type { ClientContext, OnNotice } from '../client-context.js'
import { readRunResult } from '../reads/run-result.js'
import type { RunResult } from '../reads/run-result.js'
import { readSnapshot, SNAPSHOT_QUERY_TIMEOUT } from '../read-snapshot.js'
import type { Look, ThreadSnapshot } from '../read-snapshot.js'
import { describeWorkflow } from '../thread-workflow.js'
import { explainSilence, forgetWait, reportWait } from './notices.js'

/** How `waitUntilIdle()` waits. */
export interface WaitUntilIdle {
  /** @default '1 minute' */
  readonly timeout?: Duration
  /** Waits until all threads below it are idle or closed, too. @default false */
  readonly children?: boolean
  /** Receives within 3 s the reason why a thread does not go on; the wait keeps its deadline. @default that of the client */
  readonly onNotice?: OnNotice
}

/**
 * The commit that ends a run precedes the idle workflow by a few milliseconds: the first pause is short, later ones are
 * longer.
 */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 2_000
/**
 * A query that meets a workflow which continues as new may be lost: the first query gets little time, and later ones get more,
 * so that a workflow without a cache has enough for its replay.
 */
const FIRST_PATIENCE = 250
/**
 * Notices come within three seconds (see `notices.ts`). Until then a look or a pause takes a second at most, and there are two
 * checks of a thread that works and stores nothing: only a query finds that no worker answers. Milliseconds from the start of a wait.
 */
const EARLY = { until: 3_000, longest: 1_000, checks: [750, 2_250] } as const
/** The time between two later checks. */
const FIRST_CHECK = 10_000
const LONGEST_CHECK = 30_000
/** The last one of the pauses between descriptions of a thread that may be idle, which grow from the first. */
const LONGEST_REST_PAUSE = 250
/** Events after which a thread may be idle: a run or the thread has ended, or a person is asked. */
const ENDS: ReadonlySet<string> = new Set([
  'run.completed',
  'run.failed',
  'run.cancelled',
  'thread.closed',
  'action.required',
])

/**
 * Waits until nothing is queued and nothing runs; with `children`, in no thread below it either. While the store shows that the
 * thread works, nobody asks Temporal. Then Temporal decides, because the store does not know of signals that no worker has taken. If
 * the thread is idle by its rows, a description of the workflow is enough, which is not billed. A query, which is billed, decides
 * about threads that are stopped, blocked, closing, new or waiting for a person, and with `children`.
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
  const onNotice = options.onNotice ?? context.onNotice
  const began = Date.now()
  const until = began + timeout
  const longest = (usual: number): number => (Date.now() - began < EARLY.until ? EARLY.longest : usual)
  let pause = FIRST_PAUSE
  let patience = FIRST_PATIENCE
  let earlier: TreeLook | null = null
  let silent = false
  const work = watchWork(context, { threadId, children, began, until })
  for (;;) {
    const result = silent ? null : await work.waitWhileStored()
    if (result !== null) return result
    // Without this minimum the last look would have no time left, and would take an answering worker for a silent one.
    const left = Math.max(FIRST_PATIENCE, until - Date.now())
    const looking = { threadId, children, patience: Math.min(patience, left) }
    const tree = await lookAt(context, looking)
    const busy = findBusy(tree)
    silent = busy?.silent === true
    if (busy === undefined) forgetWait(context, threadId)
    else await reportWait(context, busy, { began, onNotice })
    if (busy === undefined && (!children || isUnchanged(earlier, tree)))
      return store.read((db) => readRunResult(db, threadId, { status: tree.top.snapshot.status }))
    earlier = tree
    patience = silent ? Math.min(patience * 2, longest(SNAPSHOT_QUERY_TIMEOUT)) : FIRST_PATIENCE
    if (Date.now() >= until) throw await timeoutError(context, { threadId, busy: busy ?? tree.top }, timeout)
    if (busy === undefined) continue
    const { snapshot, before } = busy
    const wait = { threadId: snapshot.threadId, sequence: before }
    const ended = await waitForRunEnd(store, { ...wait, until: Math.min(until, Date.now() + pause) })
    pause = ended ? FIRST_PAUSE : Math.min(pause * 2, longest(LONGEST_PAUSE))
  }
}

interface Work {
  /**
   * Returns the result of a thread that rests by its rows and by the description of its workflow. Returns null if only a query can
   * tell, when nothing was stored for a while, and when the time is over.
   */
  waitWhileStored(): Promise<RunResult | null>
}

interface WatchedWork {
  readonly threadId: string
  readonly children: boolean
  readonly began: number
  readonly until: number
}

function watchWork(context: ClientContext, { threadId, children, began, until }: WatchedWork): Work {
  let checks = 0
  let checkAt = began + EARLY.checks[0]
  let seen: number | null = null
  let progressed = false
  /** The last event of a thread that seemed to rest by its rows alone: a query decides until there is another event. */
  let doubted: number | null = null

  function scheduleCheck(): void {
    checks += 1
    const next = EARLY.checks[checks]
    const later = FIRST_CHECK * 2 ** (checks - EARLY.checks.length)
    checkAt = next === undefined ? Date.now() + Math.min(later, LONGEST_CHECK) : began + next
  }

  /** Whether a look is due: nothing was stored since the last check. Early in a wait, an activity has to fail besides. */
  async function isLookDue(sequence: number): Promise<boolean> {
    const isEarly = checks < EARLY.checks.length
    const isQuiet = sequence === seen
    seen = sequence
    progressed ||= !isQuiet
    scheduleCheck()
    if (!isQuiet || !isEarly || !progressed) return isQuiet
    const workflow = await describeWorkflow(context, threadId, SNAPSHOT_QUERY_TIMEOUT).catch(() => null)
    return workflow?.state !== 'open' || workflow.failing.length > 0
  }

  return {
    async waitWhileStored() {
      const store = await context.store()
      for (;;) {
        const { sequence, state } = await store.read((db) => readWork(db, threadId))
        seen ??= sequence
        if (state === 'rests' && !children && sequence !== doubted) {
          const result = await readRest(context, { threadId, until })
          if (result !== null) return result
          doubted = sequence
          continue
        }
        if (state !== 'works' || Date.now() >= until) return null
        if (Date.now() >= checkAt && (await isLookDue(sequence))) return null
        await waitForRunEnd(store, { threadId, sequence, until: Math.min(until, checkAt) })
      }
    },
  }
}

/**
 * Returns the result if the workflow has neither a task nor an activity: it has taken every acknowledged signal, and what came of
 * them is in the rows. Returns null if the rows show something else, or after a second: without a worker a task stays.
 */
async function readRest(
  context: ClientContext,
  { threadId, until }: Pick<WatchedWork, 'threadId' | 'until'>,
): Promise<RunResult | null> {
  const store = await context.store()
  const last = Math.min(until, Date.now() + EARLY.longest)
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_REST_PAUSE)) {
    const patience = Math.max(FIRST_PATIENCE, last - Date.now())
    const workflow = await describeWorkflow(context, threadId, patience).catch(() => null)
    // After the description: a signal that was taken before it may have begun a run, and ended it.
    const result = await store.read(async (db) => {
      const { state } = await readWork(db, threadId)
      return state === 'rests' ? readRunResult(db, threadId, { status: 'idle' }) : null
    })
    if (result === null || workflow?.state !== 'open' || workflow.rests === null) return null
    if (workflow.rests) {
      forgetWait(context, threadId)
      return result
    }
    if (Date.now() + pause >= last) return null
    await sleep(pause)
  }
}

interface StoredWork {
  readonly sequence: number
  /**
   * What its rows show: that it is not idle, or that its last run has left it idle, unless it has signals that no worker has taken
   * yet. `unclear`: only its workflow can tell.
   */
  readonly state: 'works' | 'rests' | 'unclear'
}

async function readWork(db: Reader, threadId: string): Promise<StoredWork> {
  const thread = await requireThread(db, threadId)
  const { last_sequence: sequence, status } = thread
  if (!isOpen(thread)) return { sequence, state: 'unclear' }
  const run = await lastRun(db, threadId)
  const isAsked = (await listOpenRequests(db, { threadId, limit: 1 })).length > 0
  if (run !== null && run.ended_at === null) return { sequence, state: isAsked ? 'unclear' : 'works' }
  if ((await countUndelivered(db, threadId)) > 0)
    return { sequence, state: PARKED.has(status) ? 'unclear' : 'works' }
  return { sequence, state: run !== null && status === 'idle' && !isAsked ? 'rests' : 'unclear' }
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
  // Without `children` the wait ignores what subagents owe to the thread.
  const top = { ...look, owed: [], before }
  return { top, all: new Map([[threadId, top]]) }
}

interface RunEndWait {
  readonly threadId: string
  readonly sequence: number
  readonly until: number
}

/** Returns true as soon as there is such an event after that sequence; false when the time is over. */
async function waitForRunEnd(store: Store, wait: RunEndWait): Promise<boolean> {
  const changes = countChanges()
  const unwatch = store.watch(wait.threadId, changes.add)
  let after = wait.sequence
  try {
    for (;;) {
      const { version } = changes
      const events = await store.read((db) => readEvents(db, { threadId: wait.threadId, after, limit: 100 }))
      if (events.some(({ type }) => ENDS.has(type))) return true
      after = events.at(-1)?.sequence ?? after
      if (Date.now() >= wait.until) return false
      if (events.length < 100) await changes.wait(version, Math.max(0, wait.until - Date.now()))
    }
  } finally {
    unwatch()
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
    // The error below says what was expected.
  }
  throw new ConfigError([
    `Expected "timeout" to be milliseconds or a text such as "1 minute", got ${JSON.stringify(timeout)}`,
  ])
}

/** The number of requests that one sentence names. */
const TOLD = 3
const PAGE = 100

/** Describes which subagents below a thread wait for an answer, and for which: the end of a sentence, empty if none waits. */
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

/** Describes a request by names alone: the error may be logged (T5). */
function describeRequest({ id, agent }: ThreadNode, { request }: ListedRequest): string {
  const { kind, tool_name: tool, id: requestId } = request
  const what = {
    approval: 'leave to run',
    budget: 'more budget',
    call: 'the result of',
    variables: 'variables',
  }[kind]
  return `subagent ${agent} (${id}) waits for ${what}${tool === null ? '' : ` ${tool}`} (request ${requestId})`
}

/** The number of queries at a time: each may make a worker replay a thread that it does not have in its cache. */
const AT_A_TIME = 20

/** A look at one thread, with the sequence of the thread's last event before the look. */
export interface DatedLook extends Look {
  readonly before: number
}

/** Looks at a thread and the open threads below it, each at its own moment. */
export interface TreeLook {
  readonly top: DatedLook
  /** The looks by thread id, also the one at the top. */
  readonly all: ReadonlyMap<string, DatedLook>
}

/** Looks at the threads below an idle one, until one of them is busy. */
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

/** Finds a thread of a tree that is not idle, or that is about to get the report of a subagent. */
export function findBusy({ all }: TreeLook): DatedLook | undefined {
  const looks = [...all.values()]
  const isOwed = (look: Look): boolean => look.owed.some((id) => mayReport(all.get(id)))
  return looks.find((look) => !isIdle(look)) ?? looks.find(isOwed)
}

/** Whether the report of a subagent is on its way. A subagent without a look is closed, and made its report before. */
function mayReport(child: Look | undefined): boolean {
  return child === undefined || isReporting(child)
}

/**
 * Whether nothing happened in any thread between two looks at a tree, so that all threads were idle at the same moment. One
 * look is not enough: threads send each other messages, so one may have been woken by another after its own look.
 */
export function isUnchanged(earlier: TreeLook | null, later: TreeLook): boolean {
  return [...later.all].every(([id, { snapshot }]) => earlier?.all.get(id)?.before === snapshot.lastSequence)
}

/** Whether nothing is queued and nothing runs. A stopped or closed thread is idle, whatever waits in it. */
export function isIdle({ snapshot, silent }: Look): boolean {
  // The workflow has not answered, and the recorded state may be older than the last message.
  if (silent) return false
  const { status, queue, stale } = snapshot
  // A workflow that answers with this status is about to close; what it still writes belongs to the result.
  if (CLOSED.has(status)) return stale
  // Items of a parked thread wait until somebody continues it.
  if (PARKED.has(status)) return true
  return queue.length === 0 && status !== 'running' && status !== 'waiting_resource'
}

/**
 * Whether an idle subagent that owes its parent an answer will send it without further input: it has ended its work and
 * reports, or it was killed and its parent will find that. One that waits for somebody, or has yet to take the call, will not.
 */
export function isReporting({ snapshot: { status, queue, pending } }: Look): boolean {
  if (status === 'lost') return true
  if (status === 'stopped' || status === 'blocked') return queue.length === 0
  return pending.length === 0
}

const CLOSED: ReadonlySet<string> = new Set(['completed', 'failed', 'terminated'])
const PARKED: ReadonlySet<string> = new Set(['stopped', 'blocked', 'lost'])
