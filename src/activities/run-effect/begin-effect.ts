import type { RunEffectAnswer, RunEffectInput } from '../../protocol/activities.js'
import { findEffect } from '../../store/effects.js'
import type { EffectRecord } from '../../store/effects.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, insertOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import { scheduledAt, takeOver } from '../take-over.js'
import { openThread } from '../thread-row.js'

/** An effect that this attempt holds. */
export interface HeldEffect {
  readonly input: RunEffectInput
  readonly row: EffectRecord
  readonly attempt: number
  /** Microseconds. */
  readonly now: number
}

export type BegunEffect =
  | { readonly kind: 'answered'; readonly answer: RunEffectAnswer }
  | { readonly kind: 'held'; readonly effect: HeldEffect }

const NOTHING_DONE: RunEffectAnswer = { type: 'ran' }

/** The first transaction of an effect: its `started` row, before anything is done. */
export async function beginEffect(store: Store, input: RunEffectInput): Promise<BegunEffect> {
  const { threadId, effectId } = input
  return store.write(async (tx): Promise<BegunEffect> => {
    const thread = await openThread(tx, { threadId, start: null, createdAt: 0 })
    if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
    const operation = await findOperation(tx, threadId, effectId)
    // Written by the same activity: the store's boundary.
    if (operation?.state === 'finished')
      return { kind: 'answered', answer: operation.answer as RunEffectAnswer }
    const now = microseconds(input)
    if (operation === null) await appendEvents(tx, { threadId, events: input.facts, now })
    const row = await findEffect(tx, threadId, effectId)
    // Somebody removed it while its turn came.
    const gone = row?.status !== 'scheduled'
    const attempt =
      operation === null ? await insert(tx, input, gone) : await takeOver(tx, operation, 'started')
    if (gone) return { kind: 'answered', answer: NOTHING_DONE }
    return { kind: 'held', effect: { input, row, attempt, now } }
  })
}

/** The number of its first attempt. */
async function insert(tx: Writer, input: RunEffectInput, gone: boolean): Promise<number> {
  const now = microseconds(input)
  const { threadId: thread_id, effectId: id } = input
  const attempt = 1
  const operation = { thread_id, id, kind: 'effect', attempt, started_at: now } as const
  const ended = { state: 'finished', answer: NOTHING_DONE, finished_at: now } as const
  const begun = { state: 'started', scheduled_at: scheduledAt() } as const
  await insertOperation(tx, { ...operation, ...(gone ? ended : begun) })
  return attempt
}
