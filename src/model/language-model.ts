import type { LanguageModelV4 } from '@ai-sdk/provider'

/** Any AI SDK language model of specification v4: the one kind of model that threads call. */
export type LanguageModel = LanguageModelV4

/** What every AI SDK provider is: something that makes a language model from its id. */
export interface ModelProvider {
  languageModel(modelId: string): LanguageModelV4
}
