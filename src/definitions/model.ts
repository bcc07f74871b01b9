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
   * PDF files are sent as they are; without it, they become path notes.
   * @default false
   */
  readonly supportsDocuments?: boolean
  /**
   * WAV and MP3 files are sent as they are; without it, they become path notes.
   * @default false
   */
  readonly supportsAudio?: boolean
  /**
   * Without it, no tools are sent.
   * @default true
   */
  readonly supportsToolCalls?: boolean
  /** @default 128,000 */
  readonly maxContextTokens?: number
  /** What one answer may have. @default the provider's own */
  readonly maxOutputTokens?: number
  /** @deprecated write supportsImages */
  readonly vision?: boolean
  readonly supportsStreaming?: boolean
  readonly supportsJsonMode?: boolean
  /** Words of the provider for levels of reasoning, by level from 0 to 100; null for a level that has none. */
  readonly reasoningLevels?: Readonly<Record<number, string | null>>
}

/** What one provider takes at a time; more waits. Counted in each worker process. */
export interface ModelRateLimit {
  /** Calls in flight. */
  readonly concurrency?: number
  readonly requestsPerMinute?: number
}

/** A model under the name that prompts use. Prices are US dollars per million tokens. */
export interface ModelDefinition<
  Name extends string = string,
  Provider extends LanguageModelProvider = LanguageModelProvider,
  Fallback extends string = string,
> {
  /** Unique among models; best named for its use. */
  readonly name: Name
  readonly provider: Provider
  /** The id that the provider knows. */
  readonly model: ModelId<Provider>
  /** Other models, tried in this order when this one has failed for good; their own fallbacks are not followed. */
  readonly fallbacks?: readonly Fallback[]
  /** Shared by all models of the same provider object: the strictest holds. */
  readonly rateLimit?: ModelRateLimit
  /**
   * Where prompts of this model call it, fallbacks included: a worker with this `taskQueue` has to run.
   * @default the thread's own
   */
  readonly taskQueue?: string
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
export function defineModel<
  const Name extends string,
  Provider extends LanguageModelProvider,
  const Fallback extends string = never,
>(definition: ModelDefinition<Name, Provider, Fallback>): ModelDefinition<Name, Provider, Fallback> {
  return definition
}

/** The specification of the AI SDK that the models of a provider must follow. */
const SPECIFICATION = 'v4'

/** A release of a provider's package that fits, in words that hold for packages that we do not know. */
const INSTALL =
  'install the release of its package that depends on @ai-sdk/provider 4, such as @ai-sdk/openai@4'

/** Says what is wrong with a model of another version of the AI SDK, whose streams nobody here could read. */
export function modelVersionProblem(model: unknown): string | undefined {
  const version = versionOf(model)
  return version === SPECIFICATION ? undefined : problemOf(version)
}

/** The same of a provider, without asking it for a model: older ones do not say it, their models do. */
export function providerVersionProblem(provider: unknown): string | undefined {
  const version = versionOf(provider)
  return version === SPECIFICATION || version === undefined ? undefined : problemOf(version)
}

function versionOf(holder: unknown): unknown {
  if ((typeof holder !== 'object' && typeof holder !== 'function') || holder === null) return undefined
  return 'specificationVersion' in holder ? holder.specificationVersion : undefined
}

function problemOf(version: unknown): string {
  // Only what looks like a version is repeated: it may come from anywhere.
  const got = typeof version === 'string' && /^[\w.-]{1,20}$/.test(version) ? version : 'another one'
  return `expected models of the AI SDK's specification ${SPECIFICATION}, got ${got}: ${INSTALL}`
}
