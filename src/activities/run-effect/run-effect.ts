/**
 * A due effect, outside of any step: at least once in code, exactly once in effect. Its operation is looked at before
 * anything is done, and the commit is conditional on the attempt, so one that a crash cut off runs again, and what it
 * writes is there once (T4, T9). As with tools, a throw keeps what it did before; a timeout or a cut keeps nothing.
 */
import type { RunEffectAnswer, RunEffectInput } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { FileError } from '../../store/file-error.js'
import { endEffect } from '../../store/effects.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { whileBeating } from '../beat.js'
import { OperationLost, commitHeld } from '../commit.js'
import type { ActivityDependencies } from '../dependencies.js'
import { TooManyOperations, assertFitting } from '../fitting-operations.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import { readThrown } from '../thrown.js'
import { beginEffect } from './begin-effect.js'
import type { HeldEffect } from './begin-effect.js'
import { performEffect } from './perform-effect.js'
import type { EffectOutcome } from './perform-effect.js'

export async function runEffect(
  dependencies: ActivityDependencies,
  input: RunEffectInput,
): Promise<RunEffectAnswer> {
  return whileBeating(async (signal) => {
    const begun = await beginEffect(dependencies.store, input)
    if (begun.kind === 'answered') return begun.answer
    const outcome = await performEffect(dependencies, begun.effect, signal)
    return commitEffect(dependencies.store, begun.effect, outcome)
  })
}

/** A path that somebody else has turned into another kind meanwhile costs the effect what it did, and so does too much of it. */
async function commitEffect(
  store: Store,
  effect: HeldEffect,
  outcome: EffectOutcome,
): Promise<RunEffectAnswer> {
  try {
    return await commit(store, effect, outcome)
  } catch (error) {
    if (error instanceof TooManyOperations)
      return commit(store, effect, { failure: { code: 'too_many_operations', error } })
    if (!FileError.isInstance(error)) throw error
    return commit(store, effect, { failure: { code: 'invalid_file', error } })
  }
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

async function commit(
  store: Store,
  { input, row, attempt, now }: HeldEffect,
  { failure, state }: EffectOutcome,
): Promise<RunEffectAnswer> {
  const { threadId, effectId } = input
  return commitHeld(store, { threadId, id: effectId }, async (tx): Promise<RunEffectAnswer> => {
    const { operations } = (await state?.commit(tx)) ?? NO_EFFECTS
    assertFitting(operations)
    const answer: RunEffectAnswer = { type: 'ran', ...(operations.length === 0 ? {} : { operations }) }
    if (!(await finishOperation(tx, { threadId, id: effectId, attempt, answer, now })))
      throw new OperationLost()
    const error = failure === undefined ? null : await recordFailure(tx, { input, failure, now })
    const status = failure === undefined ? 'done' : 'failed'
    await endEffect(tx, { threadId, id: effectId, status, error, now })
    const about = { effectId, name: row.name }
    const event: Fact =
      failure === undefined || error === null
        ? { type: 'effect.completed', payload: about }
        : { type: 'effect.failed', payload: { ...about, code: failure.code, errorId: error } }
    await appendEvents(tx, { threadId, events: [event], now })
    return answer
  })
}

interface FailedEffect {
  readonly input: RunEffectInput
  readonly failure: NonNullable<EffectOutcome['failure']>
  readonly now: number
}

/** T5: what it threw is for operators. */
async function recordFailure(tx: Writer, { input, failure, now }: FailedEffect): Promise<string> {
  const { threadId, effectId } = input
  const id = `${threadId}:${effectId}`
  const type = `Effect.${failure.code}`
  await recordError(tx, { id, threadId, at: now, type, ...readThrown(failure.error) })
  return id
}
