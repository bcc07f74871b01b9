import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'

import { ConfigError } from '../protocol/config-error.js'
import { LIMITS } from '../protocol/limits.js'
import { WaitTimeoutError } from '../protocol/thread-error.js'
import { lastSequence, readEvents } from '../store/events.js'
import type { Store } from '../store/store.js'
import type { ClientContext } from './client-context.js'
import { readSnapshot } from './read-snapshot.js'
import type { Look } from './read-snapshot.js'
import { readRunResult } from './run-result.js'
import type { RunResult } from './run-result.js'
import { storeChange } from './store-change.js'
import { describeSilence, silenceOf } from './silence.js'
import type { ThreadSnapshot } from './thread-snapshot.js'

/** How long `waitUntilIdle()` waits. */
export interface WaitUntilIdle {
  /** @default '1 minute' */
  readonly timeout?: Duration
}

/** The settling commit comes a few milliseconds before the workflow is idle: asked again soon, then ever more rarely. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 2_000
/** A query that meets a workflow which continues as new may be lost: asked again soon, and a cold one gets all its time. */
const FIRST_PATIENCE = 250
/** Events that end a run or a thread. */
const ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled', 'thread.closed'])

/**
 * Waits until nothing is queued and nothing runs. The workflow itself decides, by a query that sees every acknowledged
 * message; the event log only says when to ask again. Once stopped or closed a thread is idle, whatever waits in it.
 * @throws WaitTimeoutError, ThreadNotFoundError
 */
export async function waitUntilIdle(
  context: ClientContext,
  threadId: string,
  options: WaitUntilIdle,
): Promise<RunResult> {
  const timeout = milliseconds(options.timeout ?? '1 minute')
  const store = await context.store()
  const until = Date.now() + timeout
  let pause = FIRST_PAUSE
  let patience = FIRST_PATIENCE
  for (;;) {
    const since = store.changed()
    const sequence = await store.read((db) => lastSequence(db, threadId))
    // The last look has no time left, and would take a worker that answers for a silent one.
    const left = Math.max(FIRST_PATIENCE, until - Date.now())
    const look = await readSnapshot(context, threadId, Math.min(patience, left))
    patience = look.silent ? Math.min(patience * 2, LIMITS.snapshotQuery) : FIRST_PATIENCE
    if (isIdle(look)) return store.read((db) => readRunResult(db, threadId, look.snapshot.status))
    if (Date.now() >= until) throw await timeoutError(context, look, timeout)
    const ended = await runEnd(store, {
      threadId,
      sequence,
      since,
      until: Math.min(until, Date.now() + pause),
    })
    pause = ended ? FIRST_PAUSE : Math.min(pause * 2, LONGEST_PAUSE)
  }
}

function isIdle({ snapshot, silent }: Look): boolean {
  // Nobody who knows has answered: the recorded state may be older than the last message.
  if (silent) return false
  const { status, queue, stale } = snapshot
  // A workflow that says so is about to close; what it still writes belongs to the result.
  if (CLOSED.has(status)) return stale
  // Parked: what is queued waits for somebody.
  if (status === 'stopped' || status === 'blocked' || status === 'lost') return true
  return queue.length === 0 && status !== 'running' && status !== 'waiting_resource'
}

const CLOSED: ReadonlySet<string> = new Set(['completed', 'failed', 'terminated'])

interface RunEndWait {
  readonly threadId: string
  readonly sequence: number
  readonly since: number
  readonly until: number
}

/** True as soon as an event after that sequence ends a run; false when the time is over. */
async function runEnd(store: Store, wait: RunEndWait): Promise<boolean> {
  let { since } = wait
  let after = wait.sequence
  for (;;) {
    await storeChange(store, { since, until: wait.until })
    since = store.changed()
    const events = await store.read((db) => readEvents(db, { threadId: wait.threadId, after, limit: 100 }))
    if (events.some(({ type }) => ENDS.has(type))) return true
    after = events.at(-1)?.sequence ?? after
    if (Date.now() >= wait.until) return false
  }
}

async function timeoutError(
  context: ClientContext,
  { snapshot, silent }: Look,
  timeout: number,
): Promise<WaitTimeoutError> {
  const { threadId, status, stale } = snapshot
  const reason = silent ? describeSilence(await silenceOf(context, threadId)) : busyWith(snapshot)
  return new WaitTimeoutError(threadId, { timeout, status, stale, reason })
}

function busyWith({ run, queue }: ThreadSnapshot): string {
  const waiting = queue.length === 0 ? '' : `, ${queue.length} queued`
  return run === null
    ? `no run yet${waiting}`
    : `${run.doing ?? 'between two actions'} in step ${run.steps} of ${run.runId}${waiting}`
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
