import type { LanguageModel } from '../../src/model/model-answer.js'
import { toScriptedRequest } from '../../src/model/scripted-request.js'
import type { ScriptedModel, ScriptedRequest } from '../../src/testing/index.js'

/** A model that many threads share: who answers is chosen by the request. */
export function relayingModel(
  modelId: string,
  answerer: (request: ScriptedRequest) => ScriptedModel | Promise<ScriptedModel>,
): LanguageModel {
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId,
    supportedUrls: {},
    doGenerate: async (options) => (await answerer(toScriptedRequest(options))).doGenerate(options),
    doStream: async (options) => (await answerer(toScriptedRequest(options))).doStream(options),
  }
}
