import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import { ConfigError, WaitTimeoutError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { RunSnapshot } from '../protocol/status.js'
import { lastSequence, readEvents } from '../store/events.js'
import type { Store } from '../store/store.js'
import type { ClientContext, OnNotice } from './client-context.js'
import { isIdle } from './is-idle.js'
import { busyIn, isUnchanged, lookAtTree } from './look-at-tree.js'
import type { TreeLook } from './look-at-tree.js'
import { forgetWait, tellOfWait } from './notices.js'
import { readSnapshot } from './read-snapshot.js'
import type { Look } from './read-snapshot.js'
import { readRunResult } from './run-result.js'
import type { RunResult } from './run-result.js'
import { describeSilence, silenceOf } from './silence.js'
import { watchThread } from './store-change.js'
import type { ThreadSnapshot } from './thread-snapshot.js'
import { waitingBelow } from './waiting-below.js'

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
    const busy = busyIn(tree)
    if (busy === undefined) forgetWait(context, threadId)
    else await tellOfWait(context, busy, options.onNotice ?? context.onNotice)
    if (busy === undefined && (!children || isUnchanged(earlier, tree)))
      return store.read((db) => readRunResult(db, threadId, tree.top.snapshot.status))
    earlier = tree
    patience = busy?.silent === true ? Math.min(patience * 2, longest(LIMITS.snapshotQuery)) : FIRST_PATIENCE
    if (Date.now() >= until) throw await timeoutError(context, { threadId, busy: busy ?? tree.top }, timeout)
    if (busy === undefined) continue
    const { snapshot, before } = busy
    const wait = { threadId: snapshot.threadId, sequence: before }
    const ended = await runEnd(store, { ...wait, until: Math.min(until, Date.now() + pause) })
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
async function runEnd(store: Store, wait: RunEndWait): Promise<boolean> {
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
  const reason = busy.silent ? describeSilence(await silenceOf(context, busyId)) : busyWith(busy.snapshot)
  const whose = busyId === threadId ? '' : `subagent ${busyId}: `
  const waiting = await waitingBelow(context, threadId)
  return new WaitTimeoutError(threadId, { timeout, status, stale, reason: `${whose}${reason}${waiting}` })
}

function busyWith({ run, queue }: ThreadSnapshot): string {
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
