import { removeScheduledEffects } from '../store/effects.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'

/** What a closed thread had scheduled never runs; `now` in microseconds. */
export async function removeEffects(tx: Writer, threadId: string, now: number): Promise<void> {
  const removed = await removeScheduledEffects(tx, threadId, now)
  const events = removed.map(({ id, name }) => ({ type: 'effect.removed', payload: { effectId: id, name } }))
  await appendEvents(tx, { threadId, events, now })
}
