import type { ScheduledEffect } from '../../definitions/thread-state.js'
import type { Fact } from '../../protocol/facts.js'
import type { JsonObject } from '../../protocol/values.js'
import type { Store } from '../../store/store.js'
import { endEffect, insertEffect, scheduledEffects } from '../../store/threads/effects.js'
import type { Journal } from './journal.js'
import { scopeOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'

/** The effects of a thread with those that one call has scheduled and removed. */
export interface BufferedEffects {
  /** The next one first. */
  readonly current: () => Promise<readonly ScheduledEffect[]>
  readonly schedule: (effect: ScheduledEffect) => void
  readonly remove: (effect: ScheduledEffect) => void
}

export interface BufferedEffectsOptions {
  readonly store: Store
  readonly threadId: string
  readonly journal: Journal
  readonly origin: StateOrigin
  /** Microseconds. */
  readonly now: number
}

export function createBufferedEffects(options: BufferedEffectsOptions): BufferedEffects {
  const { store, threadId, journal, origin, now } = options
  const added = new Map<string, ScheduledEffect>()
  // One that runs is not scheduled any more for itself.
  const removed = new Set(origin.kind === 'effect' ? [origin.id] : [])

  return {
    async current() {
      const rows = await store.read((db) => scheduledEffects(db, threadId))
      const stored = rows
        .filter(({ id }) => !removed.has(id))
        .map(({ due_at: scheduledAt, created_at: createdAt, id, name, args }) => {
          return { id, name, args, scheduledAt, createdAt }
        })
      return [...stored, ...added.values()].toSorted((one, other) => one.scheduledAt - other.scheduledAt)
    },
    schedule(effect) {
      const { id, name, args, scheduledAt, createdAt } = effect
      journal.add(async (tx) => {
        if (!added.has(id)) return {}
        const row = { thread_id: threadId, id, name, args, due_at: scheduledAt, created_at: createdAt }
        if (!(await insertEffect(tx, row))) return {}
        return {
          operations: [{ kind: 'schedule_effect', id, dueAt: Math.ceil(scheduledAt / 1000) }],
          events: [effectFact('effect.scheduled', origin, { effectId: id, name, time: scheduledAt })],
        }
      })
      added.set(id, effect)
    },
    remove({ id, name }) {
      if (added.delete(id)) return
      journal.add(async (tx) => {
        if ((await endEffect(tx, { threadId, id, status: 'removed', now })) === null) return {}
        return {
          operations: [{ kind: 'remove_effect', id }],
          events: [effectFact('effect.removed', origin, { effectId: id, name })],
        }
      })
      removed.add(id)
    },
  }
}

function effectFact(type: string, origin: StateOrigin, payload: JsonObject): Fact {
  return { type, scope: scopeOf(origin), payload }
}
