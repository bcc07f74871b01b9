import type { ActivityInput, RunEffectAnswer } from '../../protocol/activities.js'
import { endEffect } from '../../store/effects.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, finishOperation } from '../../store/operations.js'
import type { Writer } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'

const NOTHING_DONE: RunEffectAnswer = { type: 'ran' }

/**
 * Closes an effect whose activity failed for good, with its event (T3). A worker that still has it commits nothing any
 * more (T4), and one that committed it was first. The row is not read: what is wrong with it may be why nothing worked.
 */
export async function giveUpEffect(tx: Writer, input: ActivityInput, effectId: string): Promise<void> {
  const { threadId } = input
  const now = microseconds(input)
  const error = `${threadId}:${effectId}`
  const name = await endEffect(tx, { threadId, id: effectId, status: 'failed', error, now })
  if (name === null) return
  const operation = await findOperation(tx, threadId, effectId)
  if (operation !== null) {
    const { attempt } = operation
    await finishOperation(tx, { threadId, id: effectId, attempt, answer: NOTHING_DONE, now })
  }
  const message = `The effect "${name}" was given up: its activity failed for good. The log of its worker says why.`
  await recordError(tx, { id: error, threadId, at: now, type: 'Effect.given_up', message, stack: null })
  const payload = { effectId, name, code: 'given_up', errorId: error }
  await appendEvents(tx, { threadId, events: [{ type: 'effect.failed', payload }], now })
}
