import { Context } from '@temporalio/activity'

import type { PlanContent } from '../../definitions/plan-content.js'
import type { StepInput } from '../../protocol/activities.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import { countModelSteps } from '../../store/count-model-steps.js'
import type { ActivityDependencies } from '../dependencies.js'
import { openBufferedState } from '../thread-state/buffered-thread-state.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import { createHookBatch } from './hook-batch.js'
import type { HookBatch } from './hook-batch.js'
import { messageHooks } from './message-hooks.js'

interface StepHooks {
  readonly input: StepInput
  readonly content: PlanContent
  /** Of the active prompt. */
  readonly ids: readonly string[]
  /** The active one last. */
  readonly promptPath: readonly string[]
  /**
   * Which transaction of the step it is: ids of what its hooks write are made from it, the same in each attempt and
   * others for each transaction.
   */
  readonly name: string
  readonly recordsMissing: boolean
}

/** Hooks of a step that no tool call has a state for: theirs is opened when the first of them runs. */
export function stepBatch(dependencies: ActivityDependencies, hooks: StepHooks): HookBatch {
  const { input, ids, recordsMissing } = hooks
  const { threadId, run, step } = input
  const batch: HookBatch = createHookBatch({
    registry: dependencies.registry,
    threadId,
    ids,
    scope: { runId: runIdOf(run), stepId: stepIdOf(run, step) },
    now: input.now * 1000,
    open: () => openState(dependencies, hooks, batch),
    recordsMissing,
  })
  return batch
}

async function openState(
  dependencies: ActivityDependencies,
  { input, content, promptPath, name }: StepHooks,
  batch: HookBatch,
): Promise<BufferedState> {
  const { threadId, run, step, side } = input
  const before = await dependencies.store.read((db) => countModelSteps(db, { threadId, run }))
  const steps = { ...before, [side]: before[side] + 1 }
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
      currentSide: side,
      promptPath,
      stepCount: step,
      sideAStepCount: steps.a,
      sideBStepCount: steps.b,
      abortSignal: Context.current().cancellationSignal,
    },
    ...(hooked === undefined ? {} : { messageHooks: hooked }),
  })
}
