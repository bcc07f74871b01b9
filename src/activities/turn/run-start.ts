import type { CallModelInput } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { appendStatusLine } from '../../store/messages/status-line.js'
import type { Writer } from '../../store/store.js'
import { insertRun } from '../../store/threads/runs.js'
import { updateThread } from '../../store/threads/threads.js'
import { runTraceparent } from '../../telemetry/spans.js'
import { microseconds, stepScope } from '../scope.js'
import type { OpenThread } from '../thread-row.js'

/** Writes the row of a run; false if the run has already begun. */
export async function beginRunRow(tx: Writer, input: CallModelInput, trigger: string): Promise<boolean> {
  const { threadId, run } = input
  const begins = await insertRun(tx, {
    thread_id: threadId,
    number: run,
    trigger_kind: trigger,
    started_at: microseconds(input),
    traceparent: runTraceparent(),
  })
  if (begins) await updateThread(tx, threadId, { status: 'running', session_state: 'active' })
  return begins
}

/** The event at the beginning of a run. */
export function runStartFact(input: CallModelInput, trigger: string): Fact {
  return fact('run.started', { trigger }, stepScope(input))
}

/** After a handoff: makes the agent of this step the agent of the thread. */
export async function handOver(
  tx: Writer,
  input: CallModelInput,
  thread: OpenThread,
): Promise<readonly Fact[]> {
  const { threadId, agent, run, step } = input
  if (thread.agent === agent) return []
  await updateThread(tx, threadId, { agent })
  const content = `The agent "${agent}" took over from "${thread.agent}".`
  const detail = { agent, from_agent: thread.agent }
  const at = { threadId, run, step, scope: stepScope(input), now: microseconds(input) }
  const status = await appendStatusLine(tx, { ...at, kind: 'handoff', content, detail })
  return [status, fact('thread.updated', { agent, status: 'running' })]
}
