/**
 * What came of a run, as callers get it: by waiting, by its id, and in webhooks.
 *
 * Owns: the shape of a result, and which run an id names. Does not own: when a run ends (`waiting/wait-until-idle.ts`), and what its output
 * is (`store/threads/runs.ts`).
 */
import { globalRunId, runIdOf } from '../../protocol/ids.js'
import type { Message } from '../../protocol/message.js'
import type { StopReason, ThreadStatus } from '../../protocol/status.js'
import { findLastReply } from '../../store/messages/transcript.js'
import { HIGHEST_INT } from '../../store/schema.js'
import type { Reader } from '../../store/store.js'
import { findRun, lastRun, outputOf } from '../../store/threads/runs.js'
import type { RunRecord, RunUsage, SessionEnd } from '../../store/threads/runs.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** The outcome of a run of a thread. */
export interface RunResult<Output = unknown> {
  /** Of the thread. */
  readonly status: ThreadStatus
  /** Null if the thread never ran; so are `reason`, `reply` and `session`. */
  readonly runId: string | null
  /** Null also while the run goes on. */
  readonly reason: StopReason | null
  /** The last visible text of the run. */
  readonly reply: Message | null
  /** How a session tool ended the run, with its text and files. */
  readonly session: SessionEnd | null
  /**
   * The answer as the agent's `output` makes it; null: the agent has none, or the run did not end with an answer.
   */
  readonly output: Output | null
  readonly steps: number
  /** The sequence of the thread's newest event: `events({ after })` goes on from here. */
  readonly lastSequence: number
  /** Cost in millionths of a dollar; null when a price is unknown. */
  readonly usage: RunUsage
}

const NOTHING: RunUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }

/** Of the last run, or of the run of that number. */
export async function readRunResult(
  db: Reader,
  threadId: string,
  { status, number }: { readonly status: ThreadStatus; readonly number?: number },
): Promise<RunResult> {
  const thread = await requireThread(db, threadId)
  const run = number === undefined ? await lastRun(db, threadId) : await findRun(db, { threadId, number })
  return toResult(db, { thread, status, run })
}

/**
 * The result of any run, as far as it has come: nothing is waited for. By default that of the newest run; null: there is no such run.
 * @throws ThreadNotFoundError
 */
export async function readResult(
  context: ClientContext,
  threadId: string,
  runId?: string,
): Promise<RunResult | null> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await requireThread(db, threadId)
    const number = runId === undefined ? (await lastRun(db, threadId))?.number : runNumber(threadId, runId)
    const run = number === undefined ? null : await findRun(db, { threadId, number })
    return run === null ? null : toResult(db, { thread, status: thread.status, run })
  })
}

interface Ended {
  readonly thread: ThreadRecord
  readonly status: ThreadStatus
  readonly run: RunRecord | null
}

async function toResult(db: Reader, { thread, status, run }: Ended): Promise<RunResult> {
  return {
    status,
    runId: run === null ? null : runIdOf(run.number),
    reason: run?.reason ?? null,
    reply: run === null ? null : await findLastReply(db, { threadId: thread.id, run: run.number }),
    session: run?.session ?? null,
    output: run === null ? null : outputOf(run),
    steps: run?.steps ?? 0,
    lastSequence: thread.last_sequence,
    usage: run?.usage ?? NOTHING,
  }
}

/** The number of a run by the id that events have, or by the one that is unique over all threads; undefined for other texts. */
export function runNumber(threadId: string, runId: string): number | undefined {
  const number = Number(/(\d+)$/.exec(runId)?.[1])
  const isId = runId === runIdOf(number) || runId === globalRunId(threadId, number)
  return isId && number <= HIGHEST_INT ? number : undefined
}
