/**
 * A compaction between two runs: an effect of the runtime, so that nobody waits for the summary.
 * Owns: the step that it stands for, and that a message ends it.
 * Does not own: when it is due (`due-compaction.ts`), its operation (`run-effect.ts`), and the compaction (`compact.ts`).
 * Invariants:
 * - It is in flight alone, as every effect (T1). A message does not wait for it: its row in the store ends the request for the summary,
 *   behind a hook that is at work.
 * - It belongs to no run: its events name none, and its cost is that of the thread.
 * - If it is not made, the next step makes it: nothing depends on it.
 */
import { randomUUID } from 'node:crypto'
import { buildPlan } from '../../definitions/plan/build-plan.js'
import { promptOf } from '../../definitions/plan/plan-content.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallModelInput, RunEffectAnswer, RunEffectInput } from '../../protocol/activities.js'
import type { Store, Writer } from '../../store/store.js'
import { hasWork } from '../../store/threads/runs.js'
import type { ActivityDependencies } from '../activity.js'
import { stepBatch } from '../hooks/step-batch.js'
import { finish } from '../operation.js'
import type { HeldOperation } from '../operation.js'
import { openStep, resolvePrompt, systemText } from '../turn/call-model.js'
import { compactIfFull } from '../turn/model-request.js'
import type { Compaction } from '../turn/model-request.js'
import type { ModelStep } from '../turn/model-step.js'
import { compact } from './compact.js'

/** The effect, with the step that it follows. */
interface BetweenRunsInput extends RunEffectInput {
  readonly step: number
}

interface BegunBetweenRuns {
  readonly input: BetweenRunsInput
  readonly operation: HeldOperation
}

/** Compacts the context of an idle thread as its next step would do it. Returns the answer with which it has ended; null: there was nothing to do. */
export async function compactBetweenRuns(
  dependencies: ActivityDependencies,
  begun: BegunBetweenRuns,
  signal: AbortSignal,
): Promise<RunEffectAnswer | null> {
  const { store, registry } = dependencies
  const { threadId, agent } = begun.input
  const content = buildPlan(registry, agent, dependencies)
  // The next step says that no worker has the agent. The runs of two agents end when their conversation does.
  if ('missing' in content || content.plan.type !== 'ai_human') return null
  const step = await openIdleStep(dependencies, begun, content)
  return untilMessage(store, threadId, (message) => compactContext(dependencies, step, { message, signal }))
}

/** The step that would come next, without a message. Hooks of requests are not called: there is none. */
async function openIdleStep(
  dependencies: ActivityDependencies,
  { input: effect, operation }: BegunBetweenRuns,
  content: PlanContent,
): Promise<ModelStep> {
  const { effectId: _, ...given } = effect
  const { digest } = content.plan
  const input: CallModelInput = {
    ...given,
    ...{ side: 'a', plan: digest, knownPlan: digest, toolFirst: false, frame: null, trigger: null },
    ...{ asked: false, activated: true, sideStarts: false, wordless: false, drain: [] },
    ...{ start: null, createdAt: 0 },
  }
  const prompt = await resolvePrompt(dependencies, input, { content, prompt: promptOf(content, 'a') })
  const scope = {}
  const hooks = stepBatch(dependencies, {
    ...{ input, content, ids: prompt.hooks, promptPath: [prompt.name], name: operation.id, scope },
    recordsMissing: true,
  })
  const held = { ...operation, messageId: randomUUID() }
  return { ...openStep({ input, content, held, prompt, parentId: null, hooks }), scope, isStep: false }
}

interface Signals {
  /** A message has come. */
  readonly message: AbortSignal
  /** The activity is to end. */
  readonly signal: AbortSignal
}

async function compactContext(
  dependencies: ActivityDependencies,
  step: ModelStep,
  { message, signal }: Signals,
): Promise<RunEffectAnswer | null> {
  const { input, content, prompt, operation } = step
  let ended: RunEffectAnswer | null = null
  const between = {
    isGivenUp: () => message.aborted,
    end: async (tx: Writer) => {
      const { operations } = await step.hooks.commit(tx)
      ended = { type: 'ran', ...(operations.length > 0 && { operations }) }
      await finish(tx, operation, { answer: ended })
    },
  }
  const signals = AbortSignal.any([signal, message])
  const cut = ({ boundary, ...compaction }: Compaction): Promise<void> =>
    compact(
      dependencies,
      { step, signal: signals, between },
      { ...compaction, boundary: { ...boundary, operation: operation.id } },
    )
  await compactIfFull({
    ...{ store: dependencies.store, input, content, prompt, model: prompt.model, cuts: 0 },
    ...{ system: systemText(prompt.system), frameMessage: null, compact: cut },
  })
  return ended
}

/** Milliseconds between two looks for a message: nothing tells of a row that waits, and a summary takes seconds. */
const LOOKS = 200

/** Does work with a signal that tells of the first message that waits. */
async function untilMessage<T>(
  store: Store,
  threadId: string,
  work: (message: AbortSignal) => Promise<T>,
): Promise<T> {
  const message = new AbortController()
  const look = async (): Promise<void> => {
    if (!message.signal.aborted && (await store.read((db) => hasWork(db, threadId)))) message.abort()
  }
  // If the store cannot be read now, the next look may.
  const looks = setInterval(() => void look().catch(() => undefined), LOOKS)
  try {
    return await work(message.signal)
  } finally {
    clearInterval(looks)
  }
}
