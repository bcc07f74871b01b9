import type { ActivityDependencies } from '../../src/activities/activity.js'
import type { OperationDetail } from '../../src/activities/turn/request-log.js'
import { registry } from '../../src/index.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { MODEL_LIMITS } from '../../src/model/stream-answer.js'
import type { ModelLimits } from '../../src/model/stream-answer.js'
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { findOperation } from '../../src/store/operations.js'
import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk, attempt } from './activity-desk.js'

export type DeskModel = Partial<Omit<ModelDefinition, 'name' | 'provider'>> & {
  readonly asked: LanguageModel
}

export interface ModelParts {
  /** By name; the prompt's own is `chat`. */
  readonly models: Readonly<Record<string, DeskModel>>
  readonly prompt?: Partial<PromptDefinition>
  readonly agent?: Partial<AgentDefinition>
  /** That the prompt reaches as tools. */
  readonly prompts?: readonly PromptDefinition[]
  readonly limits?: Partial<ModelLimits>
}

export interface ModelDesk extends ActivityDesk {
  /** One step of the thread `t`, begun by a message that is new in the first call. */
  step(patch?: Partial<CallModelInput>, environment?: ReturnType<typeof attempt>): Promise<CallModelAnswer>
  /** Of the model operation of step 1. */
  detail(id?: string): Promise<OperationDetail>
}

/** Runs `work` with a thread whose one prompt asks these models. */
export async function withModels(parts: ModelParts, work: (desk: ModelDesk) => Promise<void>): Promise<void> {
  await withDesk({}, async (desk) => {
    const ids = await desk.send('Hello?')
    const dependencies = dependenciesOf(desk, parts)
    await work({
      ...desk,
      dependencies,
      step: (patch = {}, environment) =>
        runModel(dependencies, modelInput({ drain: drainOf(ids), ...patch }), environment),
      async detail(id = 'model_1_1') {
        const operation = await desk.store.read((db) => findOperation(db, 't', id))
        return operation?.detail as OperationDetail
      },
    })
  })
}

/** A worker with these models. */
function dependenciesOf(
  desk: ActivityDesk,
  { models, prompt = {}, agent = {}, prompts = [], limits }: ModelParts,
): ActivityDependencies {
  const modelLimits = { ...MODEL_LIMITS, ...limits }
  const registered = modelRegistry(models, [clerk(prompt), ...prompts], agent)
  return { ...desk.dependencies, modelLimits, registry: registered }
}

function clerk(prompt: Partial<PromptDefinition>): PromptDefinition {
  const own = { name: 'clerk', toolDescription: 'Answers', prompt: 'You are the clerk.', model: 'chat' }
  return { ...own, includeChat: true, ...prompt }
}

function modelRegistry(
  models: ModelParts['models'],
  prompts: readonly PromptDefinition[],
  agent: Partial<AgentDefinition>,
) {
  const agents = ['clerk', 'successor'].map((name) => ({ ...agent, name, sideA: { prompt: 'clerk' } }))
  const definitions = Object.entries(models).map(([name, { asked, ...definition }]) => ({
    model: 'm',
    ...definition,
    name,
    provider: { languageModel: () => asked },
  }))
  // Names are made here, so that the compiler cannot check them.
  return registry({ models: definitions, prompts, agents } as never)
}

/** A model that refuses with this status, as often as it is asked. */
export function refusing(status: number, headers: Record<string, string> = {}) {
  return scriptedModel(() => ({ error: { status, message: `No, ${status}.`, headers } }))
}
