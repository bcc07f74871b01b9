import type { ModelDefinition } from '../definitions/model.js'
import type { LanguageModel } from '../model/language-model.js'
import type { AskedModel, ModelWatch } from '../telemetry/watch-model.js'

/** What a provider calls it; one that its provider does not have bears the name that was asked for. */
export function askedModel(definition: ModelDefinition, model: LanguageModel | null): AskedModel {
  return { provider: model?.provider ?? 'unknown', model: model?.modelId ?? definition.model }
}

/** The same model, whose own spans stand below the request at hand. */
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
