import type { LanguageModelV4 } from '@ai-sdk/provider'

/** Any AI SDK language model of specification v4: the one kind of model that threads call. */
export type LanguageModel = LanguageModelV4
