import type { RunContext } from '../../policy/run-context.js'
import { readRunContext } from '../../store/threads/run-context.js'
import { lastRun } from '../../store/threads/runs.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { runNumber } from '../reads/run-result.js'

/** Reads the context of a run, by the id that events have, or by the one that is unique over all threads. */
export async function readThreadContext(
  context: ClientContext,
  threadId: string,
  runId?: string,
): Promise<RunContext | null> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const number = runId === undefined ? (await lastRun(db, threadId))?.number : runNumber(threadId, runId)
    return number === undefined ? null : readRunContext(db, { threadId, number })
  })
}
