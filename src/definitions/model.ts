import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'

/** A provider of the AI SDK, as far as it is used here. */
export interface LanguageModelProvider {
  languageModel(id: string): LanguageModelV4
}

/** What is known of a model and changes what is sent to it. */
export interface ModelCapabilities {
  /**
   * Without it, images become path notes.
   * @default true
   */
  readonly supportsImages?: boolean
  /**
   * Without it, no tools are sent.
   * @default true
   */
  readonly supportsToolCalls?: boolean
  /** @default 128,000 */
  readonly maxContextTokens?: number
}

/** A model under the name that prompts use. Prices are US dollars per million tokens. */
export interface ModelDefinition<
  Name extends string = string,
  Provider extends LanguageModelProvider = LanguageModelProvider,
> {
  /** Unique among models; best named for its use. */
  readonly name: Name
  readonly provider: Provider
  /** The id that the provider knows. */
  readonly model: ModelId<Provider>
  readonly inputPrice?: number
  readonly outputPrice?: number
  /** For input tokens that the provider read from its cache. */
  readonly cachedPrice?: number
  readonly capabilities?: ModelCapabilities
  /** By provider key of the AI SDK. */
  readonly providerOptions?: SharedV4ProviderOptions
}

type ModelId<Provider> = Provider extends { languageModel(id: infer Id): unknown } ? Id & string : string

/** Declares a model of any AI SDK provider; `registry()` checks it. */
export function defineModel<const Name extends string, Provider extends LanguageModelProvider>(
  definition: ModelDefinition<Name, Provider>,
): ModelDefinition<Name, Provider> {
  return definition
}
