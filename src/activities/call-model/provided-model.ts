import { log } from '@temporalio/activity'

import type { ModelDefinition } from '../../definitions/model.js'
import { modelVersionProblem } from '../../definitions/provider-version.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import type { LanguageModel } from '../../model/language-model.js'
import { ModelError } from '../../model/model-error.js'

/**
 * The provider's own model: asked for when it is called, for it may need a key that only workers have.
 * @throws ModelError if the provider does not have it, lacks its key, or is of another version of the AI SDK
 */
export function providedModel({ name, provider, model }: ModelDefinition): LanguageModel {
  const provided = made(provider, model)
  const problem = modelVersionProblem(provided)
  if (problem === undefined) return provided
  log.error(`The model "${name}" cannot be used: ${problem}.`)
  throw new ModelError({ kind: 'unsupported_version', message: problem, retryable: false })
}

function made(provider: ModelDefinition['provider'], model: string): LanguageModel {
  try {
    return provider.languageModel(model)
  } catch (error) {
    throw classifyModelError(error)
  }
}
