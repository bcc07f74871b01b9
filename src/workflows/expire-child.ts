import type { DeferredChild } from '../thread/control.js'
import { childExpired, expiryFailed } from '../thread/deferred.js'
import { callActivity } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/** Nobody gave a subagent its variables in time: the store says so, unless they came after all. */
export async function expireChild(host: ThreadHost, { requestId, child }: DeferredChild): Promise<void> {
  const called = await callActivity(host, {
    name: 'expireChild',
    limit: 0,
    summary: `expire ${child.agent}`,
    cutBy: null,
    input: { requestId, reference: child.reference },
  })
  host.update((control) =>
    called.kind === 'answered'
      ? childExpired(control, requestId, called.answer.messageId, Date.now())
      : expiryFailed(control, requestId, Date.now()),
  )
}
