import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { microseconds } from '../scope.js'
import type { StepInput } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/events.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { Side } from '../../protocol/plan.js'
import { countModelSteps } from '../../store/messages/transcript.js'
import { currentSignal } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { openBufferedState } from '../thread-state/buffered-state.js'
import type { BufferedState } from '../thread-state/buffered-state.js'
import { createHookBatch } from './hook-batch.js'
import type { HookBatch } from './hook-batch.js'
import { messageHooks } from './message-hooks.js'

interface StepHooks {
  readonly input: StepInput
  readonly content: PlanContent
  /** Hooks of the active prompt. */
  readonly ids: readonly string[]
  /** Those of them that decide about calls. */
  readonly deciding?: PromptContent['deciding']
  /** Names of prompts, the active one last. */
  readonly promptPath: readonly string[]
  /**
   * Names the transaction within the step. Ids of its hooks' writes are derived from it, so they are the same in each
   * attempt and differ between transactions.
   */
  readonly name: string
  readonly recordsMissing: boolean
  /** Steps of the run by side, including this one. Counted in the store if absent. */
  readonly sideSteps?: Readonly<Record<Side, number>>
  /** @default the step, for events about these hooks */
  readonly scope?: EventScope
}

/** Creates the batch of a step's hooks outside of its tool calls. Their state is opened when the first of them runs. */
export function stepBatch(dependencies: ActivityDependencies, hooks: StepHooks): HookBatch {
  const { input, ids, recordsMissing } = hooks
  const { threadId, run, step } = input
  const batch: HookBatch = createHookBatch({
    registry: dependencies.registry,
    threadId,
    ids,
    deciding: hooks.deciding,
    scope: hooks.scope ?? { runId: runIdOf(run), stepId: stepIdOf(run, step) },
    now: microseconds(input),
    open: () => openState(dependencies, hooks, batch),
    recordsMissing,
  })
  return batch
}

async function openState(
  dependencies: ActivityDependencies,
  { input, content, promptPath, name, sideSteps }: StepHooks,
  batch: HookBatch,
): Promise<BufferedState> {
  const { threadId, run, step, side } = input
  const steps = sideSteps ?? (await countSteps(dependencies, input))
  const hooked = messageHooks(batch)
  return openBufferedState({
    dependencies,
    threadId,
    agent: input.agent,
    now: input.now,
    origin: { kind: 'hook', id: `hooks_${name}`, run, step, side },
    content,
    execution: {
      flowId: runIdOf(run),
      stepId: stepIdOf(run, step),
      currentSide: side,
      promptPath,
      stepCount: step,
      sideAStepCount: steps.a,
      sideBStepCount: steps.b,
      abortSignal: currentSignal(),
    },
    ...(hooked === undefined ? {} : { messageHooks: hooked }),
  })
}

async function countSteps(
  { store }: ActivityDependencies,
  { threadId, run, side }: StepInput,
): Promise<Readonly<Record<Side, number>>> {
  const before = await store.read((db) => countModelSteps(db, { threadId, run }))
  return { ...before, [side]: before[side] + 1 }
}
