import type { CallModelInput } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { appendStatusLine } from '../../store/status-line.js'
import type { Writer } from '../../store/store.js'
import { updateThread } from '../../store/threads.js'
import { microseconds, stepScope } from './model-step.js'
import type { OpenThread } from '../thread-row.js'

/** The first step of an agent that took the thread over makes it the thread's own. */
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
  return [status, { type: 'thread.updated', payload: { agent, status: 'running' } }]
}
