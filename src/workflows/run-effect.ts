import { patched } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import { effectGivenUp, effectRan, queuesAtEnd, terminationFound } from '../thread/apply.js'
import { callActivity } from './call-activity.js'
import { settle } from './settle.js'
import type { ThreadHost } from './thread-host.js'

/** A due effect, between two steps or without a run: a stop does not cut it, for it belongs to no run. */
export async function runEffect(host: ThreadHost, effectId: string): Promise<void> {
  const called = await callActivity(host, {
    name: 'runEffect',
    limit: LIMITS.toolTimeout,
    summary: `effect ${effectId}`,
    cutBy: 'terminate',
    input: { effectId, agent: host.control.agent },
  })
  if (called.kind === 'cut') return
  if (called.kind === 'failed') {
    host.update((control) => effectGivenUp(control, effectId))
    // Nothing else may follow for months. If this fails too, the next settle tells.
    return settle(host, { ending: null, close: null })
  }
  const { answer } = called
  if (answer.type === 'terminated') return host.update(terminationFound)
  const { operations } = answer
  // 0.1.0 left them in the store for ever. Asked only where it matters, so no other history has the marker.
  const keepsTools = queuesAtEnd(host.control, operations) && patched('tools-of-an-effect-outlive-a-stop')
  host.update((control) => effectRan(control, { id: effectId, operations, keepsTools }, Date.now()))
}
