import { modelOperationId, runIdOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { RunSnapshot } from '../protocol/status.js'
import { listOpenToolCalls } from '../store/calls/tool-calls.js'
import { findNewestOperation } from '../store/operations.js'
import type { Reader } from '../store/store.js'
import { lastRun } from '../store/threads/runs.js'

/** What a run does now, as its operations show it. */
export type WorkAhead = Pick<RunSnapshot, 'steps' | 'doing' | 'since'>

/** Reads what the activity of a run has done since the workflow scheduled it; null if that is no more than the workflow knows. */
export async function readWorkAhead(
  db: Reader,
  threadId: string,
  { runId, steps }: Pick<RunSnapshot, 'runId' | 'steps'>,
): Promise<WorkAhead | null> {
  const run = (await lastRun(db, threadId))?.number
  if (run === undefined || runIdOf(run) !== runId) return null
  const ids = Array.from({ length: LIMITS.stepsPerRun }, (_, index) =>
    modelOperationId({ run, step: steps + 1 + index }),
  )
  const newest = await findNewestOperation(db, threadId, ids)
  if (newest === null || newest.step === null) return null
  const { step, started_at: since } = newest
  if (newest.state !== 'finished')
    return step === steps + 1 ? null : { steps: step - 1, doing: 'model', since }
  const [call] = (await listOpenToolCalls(db, threadId, run)).filter((open) => open.step === step)
  const doing = call === undefined || call.started_at === null ? null : `tool ${call.name}`
  return { steps: step, doing, since: call?.started_at ?? newest.finished_at ?? since }
}
