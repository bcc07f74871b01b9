import type { Registry } from '../../definitions/known-definitions.js'
import { modelVersionProblem } from '../../definitions/model.js'
import type { ModelDefinition } from '../../definitions/model.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import type { LanguageModel } from '../../model/model-answer.js'
import { ModelError } from '../../model/model-error.js'
import type { AskedModel, ModelWatch } from '../../telemetry/watch-model.js'
import { waitForDefinition } from '../plan-content.js'
import { log } from '../temporal-activity.js'
import type { ModelStep } from './model-step.js'

/**
 * The provider's model. It is created before each use, because it may need a key that only workers have.
 * @throws ModelError if the provider does not have it, lacks its key, or is of another version of the AI SDK
 */
export function providedModel({ name, provider, model }: ModelDefinition): LanguageModel {
  const provided = createModel(provider, model)
  const problem = modelVersionProblem(provided)
  if (problem === undefined) return provided
  log.error(`The model "${name}" cannot be used: ${problem}.`)
  throw new ModelError({ kind: 'unsupported_version', message: problem, retryable: false })
}

function createModel(provider: ModelDefinition['provider'], model: string): LanguageModel {
  try {
    return provider.languageModel(model)
  } catch (error) {
    throw classifyModelError(error)
  }
}

/**
 * The names of a model for telemetry: the provider's own, or those of the definition if the provider does not have
 * it.
 */
export function modelNames(definition: ModelDefinition, model: LanguageModel | null): AskedModel {
  return { provider: model?.provider ?? 'unknown', model: model?.modelId ?? definition.model }
}

/** The same model; spans that it creates become children of the span of the request. */
export function withinRequest(model: LanguageModel, watch: ModelWatch): LanguageModel {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => watch.within(() => model.doGenerate(options)),
    doStream: (options) => watch.within(() => model.doStream(options)),
  }
}

/**
 * The prompt's model and its fallbacks, in the order of the calls. A model that this worker lacks counts as failed
 * and is left out.
 * @throws `Definition.Missing` while another worker may have the prompt's model
 */
export function candidatesOf(
  registry: Registry,
  { content, prompt }: Pick<ModelStep, 'content' | 'prompt'>,
): readonly ModelDefinition[] {
  if (registry.model(prompt.model) === undefined) waitForDefinition(`model "${prompt.model}"`)
  const names = [prompt.model, ...(content.models[prompt.model]?.fallbacks ?? [])]
  return names.flatMap((name) => registry.model(name) ?? [])
}
