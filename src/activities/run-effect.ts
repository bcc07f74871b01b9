/**
 * Runs a due effect, outside of any step. Its code may run more than once; its writes are committed once (T4, T9).
 * Owns: the operation of the effect from begin to commit, and the end of its row.
 * Does not own: when an effect is due, which the workflow's timers decide, and the state that its code sees.
 * An interrupted effect runs again, because the interrupted attempt committed nothing. An effect that throws keeps
 * its earlier writes, as a tool does; an effect that times out or is stopped keeps none.
 */
import type { EffectDefinition } from '../definitions/effect.js'
import { buildPlan } from '../definitions/plan/build-plan.js'
import { parseArguments } from '../definitions/plan/tool-arguments.js'
import type { ActivityInput, RunEffectAnswer, RunEffectInput } from '../protocol/activities.js'
import type { EffectFailureCode } from '../protocol/event-codes.js'
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { placeOfBetweenRuns } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { Micros } from '../protocol/time.js'
import { recordError } from '../store/errors.js'
import { appendEvents } from '../store/events.js'
import { FileError } from '../store/files/file-checks.js'
import type { Store, Writer } from '../store/store.js'
import { endEffect, findEffect } from '../store/threads/effects.js'
import type { EffectRecord } from '../store/threads/effects.js'
import { hasWork } from '../store/threads/runs.js'
import { assertStoppedByUser, withStops } from './activity.js'
import type { ActivityDependencies } from './activity.js'
import { compactBetweenRuns } from './compaction/between-runs.js'
import {
  assertFitting,
  begin,
  commit,
  finish,
  finishForHolder,
  lookUp,
  record,
  TooManyOperations,
  unstoredFacts,
} from './operation.js'
import type { HeldOperation, Unfinished } from './operation.js'
import { waitForDefinition } from './plan-content.js'
import { microseconds } from './scope.js'
import { openThread } from './thread-row.js'
import { openBufferedState } from './thread-state/buffered-state.js'
import type { BufferedState, StateEffects } from './thread-state/buffered-state.js'
import { readThrown } from './thrown.js'

export async function runEffect(
  dependencies: ActivityDependencies,
  input: RunEffectInput,
): Promise<RunEffectAnswer> {
  const { store } = dependencies
  const { threadId, effectId } = input
  // A stop does not interrupt it, for it belongs to no run.
  return withStops(store, { threadId, run: null }, async (signal) => {
    const place = placeOfBetweenRuns(effectId)
    if (place !== null) return runCompaction(dependencies, { ...input, ...place }, signal)
    const begun = await beginEffect(store, input, async (tx) => {
      const row = await findEffect(tx, threadId, effectId)
      // It may have been removed after it became due.
      return row?.status === 'scheduled' ? row : null
    })
    if (begun.kind === 'answered') return begun.answer
    const { due: row, operation } = begun
    const effect = { input, row, operation, now: microseconds(input) }
    const outcome = await performEffect(dependencies, effect, signal)
    return commitEffect(store, effect, outcome)
  })
}

/** The effect of the runtime, which has no row. A thread that works, or is about to, compacts in its step. */
async function runCompaction(
  dependencies: ActivityDependencies,
  input: Parameters<typeof compactBetweenRuns>[1]['input'],
  signal: AbortSignal,
): Promise<RunEffectAnswer> {
  const { store } = dependencies
  const begun = await beginEffect(store, input, async (tx, { operation }) =>
    // One that an attempt has begun is ended, whatever has come since.
    operation === null && (await hasWork(tx, input.threadId)) ? null : input,
  )
  if (begun.kind === 'answered') return begun.answer
  const { operation } = begun
  const ended = await compactBetweenRuns(dependencies, { input, operation }, signal)
  return (
    ended ??
    commit(store, operation, async (tx) => {
      await finish(tx, operation, { answer: NOTHING_DONE })
      return NOTHING_DONE
    })
  )
}

/**
 * An effect fails and loses its writes if they are too many for one answer, or if another writer has since changed
 * the kind (file or folder) of a path that it wrote.
 */
async function commitEffect(
  store: Store,
  effect: HeldEffect,
  outcome: EffectOutcome,
): Promise<RunEffectAnswer> {
  try {
    return await commitOutcome(store, effect, outcome)
  } catch (error) {
    if (error instanceof TooManyOperations)
      return commitOutcome(store, effect, { failure: { code: 'too_many_operations', error } })
    if (!FileError.isInstance(error)) throw error
    return commitOutcome(store, effect, { failure: { code: 'invalid_file', error } })
  }
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

async function commitOutcome(
  store: Store,
  { input, row, operation, now }: HeldEffect,
  { failure, state }: EffectOutcome,
): Promise<RunEffectAnswer> {
  const { threadId, effectId } = input
  return commit(store, operation, async (tx): Promise<RunEffectAnswer> => {
    const { operations } = (await state?.commit(tx)) ?? NO_EFFECTS
    assertFitting(operations)
    const answer: RunEffectAnswer = { type: 'ran', ...(operations.length === 0 ? {} : { operations }) }
    await finish(tx, operation, { answer })
    const error = failure === undefined ? null : await recordFailure(tx, { input, failure, now })
    const status = failure === undefined ? 'done' : 'failed'
    await endEffect(tx, { threadId, id: effectId, status, error, now })
    const about = { effectId, name: row.name }
    const event: Fact =
      failure === undefined || error === null
        ? fact('effect.completed', about)
        : fact('effect.failed', { ...about, code: failure.code, errorId: error })
    await appendEvents(tx, { threadId, events: [event], now })
    return answer
  })
}

interface FailedEffect {
  readonly input: RunEffectInput
  readonly failure: NonNullable<EffectOutcome['failure']>
  readonly now: Micros
}

/** T5: the error is for operators. */
async function recordFailure(tx: Writer, { input, failure, now }: FailedEffect): Promise<string> {
  const { threadId, effectId } = input
  const id = `${threadId}:${effectId}`
  const type = `Effect.${failure.code}`
  await recordError(tx, { id, threadId, at: now, type, ...readThrown(failure.error) })
  return id
}

/** An effect that this attempt holds. */
interface HeldEffect {
  readonly input: RunEffectInput
  readonly row: EffectRecord
  readonly operation: HeldOperation
  readonly now: Micros
}

type BegunEffect<Due> =
  | { readonly kind: 'answered'; readonly answer: RunEffectAnswer }
  | { readonly kind: 'held'; readonly due: Due; readonly operation: HeldOperation }

const NOTHING_DONE: RunEffectAnswer = { type: 'ran' }

/**
 * The first transaction of an effect: it writes the `started` row before any code of the effect runs. `findDue` says what is to be done;
 * null: nothing any more.
 */
async function beginEffect<Due>(
  store: Store,
  input: RunEffectInput,
  findDue: (tx: Writer, found: Unfinished) => Promise<Due | null>,
): Promise<BegunEffect<Due>> {
  const { threadId, effectId } = input
  return store.write(async (tx): Promise<BegunEffect<Due>> => {
    const thread = await openThread(tx, { threadId, start: null, createdAt: 0 })
    if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
    const found = await lookUp<RunEffectAnswer>(tx, { threadId, id: effectId })
    if (found.kind === 'answered') return found
    const now = microseconds(input)
    if (found.operation === null)
      await appendEvents(tx, { threadId, events: await unstoredFacts(tx, input), now })
    const due = await findDue(tx, found)
    // The writes of an interrupted attempt were not committed, so the code runs again (T9).
    const beginning = { kind: 'effect', place: {}, onInterrupted: 'rerun', now } as const
    if (due === null) {
      if (found.operation === null)
        await record(tx, found, { kind: 'effect', place: {}, answer: NOTHING_DONE, now })
      else await begin(tx, found, beginning)
      return { kind: 'answered', answer: NOTHING_DONE }
    }
    const { held: operation } = await begin(tx, found, beginning)
    return { kind: 'held', due, operation }
  })
}

/** The outcome of an effect; `state` holds the writes that are committed with it. */
interface EffectOutcome {
  /** `code` is for events; `error` is for operators. */
  readonly failure?: { readonly code: EffectFailureCode; readonly error: unknown }
  readonly state?: BufferedState
}

/** Runs the code of an effect. An error of that code never fails the activity. */
async function performEffect(
  dependencies: ActivityDependencies,
  effect: HeldEffect,
  signal: AbortSignal,
): Promise<EffectOutcome> {
  const { row } = effect
  const definition = dependencies.registry.effect(row.name)
  if (definition === undefined) {
    waitForDefinition(`effect "${row.name}"`)
    return failWith('definition_missing', `This worker has no effect "${row.name}".`)
  }
  const parsed = parseArguments(definition.args, JSON.stringify(row.args))
  if (!parsed.ok) return failWith('invalid_arguments', parsed.problem)
  const state = await openState(dependencies, effect)
  const ended = await runHandler({ definition, args: parsed.args, state, signal })
  if (ended.kind !== 'done') state.close()
  await state.waitForWork()
  if (ended.kind === 'stopped') assertStoppedByUser()
  switch (ended.kind) {
    case 'done':
      return { state }
    case 'threw':
      return { state, failure: { code: 'threw', error: state.redactor.redactThrown(ended.error) } }
    case 'timed_out':
      return failWith('timeout', `The effect did not end within ${LIMITS.toolTimeout / 1000} seconds.`)
    case 'stopped':
      return failWith('interrupted', 'The effect was interrupted.')
  }
}

function failWith(code: EffectFailureCode, message: string): EffectOutcome {
  return { failure: { code, error: new Error(message) } }
}

function openState(dependencies: ActivityDependencies, { input, row }: HeldEffect): Promise<BufferedState> {
  const { threadId, agent, now, effectId: id } = input
  const content = buildPlan(dependencies.registry, agent, dependencies)
  return openBufferedState({
    dependencies,
    threadId,
    agent,
    now,
    origin: { kind: 'effect', id, name: row.name, run: null, step: null, side: null },
    execution: null,
    content: 'missing' in content ? null : content,
  })
}

interface HandlerCall {
  readonly definition: EffectDefinition
  readonly args: Record<string, unknown>
  readonly state: BufferedState
  readonly signal: AbortSignal
}

type HandlerEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

/** Does not wait for code that exceeds its time; the caller closes its state. */
function runHandler({ definition, args, state, signal }: HandlerCall): Promise<HandlerEnd> {
  return new Promise((resolve) => {
    const end = (ended: HandlerEnd): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(ended)
    }
    const stop = (): void => end({ kind: 'stopped' })
    const timer = setTimeout(() => end({ kind: 'timed_out' }), LIMITS.toolTimeout)
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    // `args` were parsed by the effect's own schema.
    Promise.resolve()
      .then(() => definition.execute(state.state, args as never))
      .then(
        () => end({ kind: 'done' }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}

/**
 * Ends an effect whose activity has failed permanently, with its event (T3). A worker that still runs the effect can
 * commit nothing any more (T4); if a worker has committed it already, that outcome stays. The arguments in the row
 * are not read, because they may be the cause.
 */
export async function giveUpEffect(tx: Writer, input: ActivityInput, effectId: string): Promise<void> {
  const { threadId } = input
  const now = microseconds(input)
  const error = `${threadId}:${effectId}`
  const name = await endEffect(tx, { threadId, id: effectId, status: 'failed', error, now })
  if (name === null) return
  await finishForHolder(tx, { threadId, id: effectId }, { answer: NOTHING_DONE, now })
  const message = `The effect "${name}" was given up: its activity failed for good. The log of its worker says why.`
  await recordError(tx, { id: error, threadId, at: now, type: 'Effect.given_up', message, stack: null })
  const payload = { effectId, name, code: 'given_up', errorId: error } as const
  await appendEvents(tx, { threadId, events: [fact('effect.failed', payload)], now })
}
