import { buildPlan } from '../../definitions/build-plan.js'
import type { EffectDefinition } from '../../definitions/effect.js'
import { parseArguments } from '../../definitions/tool-arguments.js'
import { LIMITS } from '../../protocol/limits.js'
import { assertStoppedByUser } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { waitForDefinition } from '../plan-content.js'
import { openBufferedState } from '../thread-state/buffered-thread-state.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import type { HeldEffect } from './begin-effect.js'

/** What came of an effect; `state` is committed with it. */
export interface EffectOutcome {
  /** `code` is for events; the error has its words. */
  readonly failure?: { readonly code: string; readonly error: unknown }
  readonly state?: BufferedState
}

/** Runs the code of an effect. Nothing that it does fails the activity. */
export async function performEffect(
  dependencies: ActivityDependencies,
  effect: HeldEffect,
  signal: AbortSignal,
): Promise<EffectOutcome> {
  const { row } = effect
  const definition = dependencies.registry.effect(row.name)
  if (definition === undefined) {
    waitForDefinition(`effect "${row.name}"`)
    return failedWith('definition_missing', `This worker has no effect "${row.name}".`)
  }
  const parsed = parseArguments(definition.args, JSON.stringify(row.args))
  if (!parsed.ok) return failedWith('invalid_arguments', parsed.problem)
  const state = await openState(dependencies, effect)
  const ended = await runHandler({ definition, args: parsed.args, state, signal })
  if (ended.kind !== 'done') state.close()
  await state.settled()
  if (ended.kind === 'stopped') assertStoppedByUser()
  switch (ended.kind) {
    case 'done':
      return { state }
    case 'threw':
      return { state, failure: { code: 'threw', error: state.redactor.redactThrown(ended.error) } }
    case 'timed_out':
      return failedWith('timeout', `The effect did not end within ${LIMITS.toolTimeout / 1000} seconds.`)
    case 'stopped':
      return failedWith('interrupted', 'The effect was interrupted.')
  }
}

function failedWith(code: string, message: string): EffectOutcome {
  return { failure: { code, error: new Error(message) } }
}

function openState(dependencies: ActivityDependencies, { input, row }: HeldEffect): Promise<BufferedState> {
  const { threadId, agent, now, effectId: id } = input
  const content = buildPlan(dependencies.registry, agent, dependencies.caps)
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

interface Handling {
  readonly definition: EffectDefinition
  readonly args: Record<string, unknown>
  readonly state: BufferedState
  readonly signal: AbortSignal
}

type Ended =
  | { readonly kind: 'done' }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

/** One that never ends is not waited for: its state is closed behind it. */
function runHandler({ definition, args, state, signal }: Handling): Promise<Ended> {
  return new Promise((resolve) => {
    const end = (ended: Ended): void => {
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
