import { runIdOf } from '../protocol/ids.js'
import type { Message } from '../protocol/message.js'
import type { StopReason, ThreadStatus } from '../protocol/status.js'
import { lastReply } from '../store/messages/transcript.js'
import type { Reader } from '../store/store.js'
import { lastRun } from '../store/threads/runs.js'
import type { RunUsage, SessionEnd } from '../store/threads/runs.js'
import { knownThread } from './open-thread.js'

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

export async function readRunResult(db: Reader, threadId: string, status: ThreadStatus): Promise<RunResult> {
  const thread = await knownThread(db, threadId)
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
