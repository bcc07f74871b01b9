import type { CallModelInput } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import type { Writer } from '../../store/store.js'
import { updateThread } from '../../store/threads.js'
import type { OpenThread } from '../thread-row.js'

/** The first step of an agent that took the thread over makes it the thread's own. */
export async function handOver(
  tx: Writer,
  { threadId, agent }: CallModelInput,
  thread: OpenThread,
): Promise<readonly Fact[]> {
  if (thread.agent === agent) return []
  await updateThread(tx, threadId, { agent })
  return [{ type: 'thread.updated', payload: { agent, status: 'running' } }]
}
