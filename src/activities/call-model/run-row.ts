import type { CallModelInput } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { insertRun } from '../../store/runs.js'
import type { Writer } from '../../store/store.js'
import { updateThread } from '../../store/threads.js'
import { runTraceparent } from '../../telemetry/run-trace.js'
import { microseconds, stepScope } from './model-step.js'

/** False if it has one: it began before. */
export async function beginRunRow(tx: Writer, input: CallModelInput, trigger: string): Promise<boolean> {
  const { threadId, run } = input
  const begins = await insertRun(tx, {
    thread_id: threadId,
    number: run,
    trigger_kind: trigger,
    started_at: microseconds(input),
    traceparent: runTraceparent(),
  })
  if (begins) await updateThread(tx, threadId, { status: 'running' })
  return begins
}

/** Of a run that just began. */
export function startedFact(input: CallModelInput, trigger: string): Fact {
  return { type: 'run.started', scope: stepScope(input), payload: { trigger } }
}
