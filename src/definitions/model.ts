import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'

/** The part of an AI SDK provider that is used here. */
export interface LanguageModelProvider {
  languageModel(id: string): LanguageModelV4
}

/** Facts about a model that change its requests. */
export interface ModelCapabilities {
  /**
   * If false, images become notes with their paths.
   * @default true
   */
  readonly supportsImages?: boolean
  /**
   * If true, PDF files are sent as they are; otherwise they become notes with their paths.
   * @default false
   */
  readonly supportsDocuments?: boolean
  /**
   * If true, WAV and MP3 files are sent as they are; otherwise they become notes with their paths.
   * @default false
   */
  readonly supportsAudio?: boolean
  /**
   * If false, no tools are sent.
   * @default true
   */
  readonly supportsToolCalls?: boolean
  /** @default 128,000 */
  readonly maxContextTokens?: number
  /** The most tokens of one answer. @default the provider's own */
  readonly maxOutputTokens?: number
  /** @deprecated write supportsImages */
  readonly vision?: boolean
  readonly supportsStreaming?: boolean
  /**
   * If false, the schema of an agent's `output` stands in its system text, for providers that take no schema, or none beside tools.
   * @default true
   */
  readonly supportsJsonMode?: boolean
  /** The provider's words for levels of reasoning from 0 to 100; null for a level without a word. */
  readonly reasoningLevels?: Readonly<Record<number, string | null>>
}

/** The limits of one provider, counted in each worker process; requests above them wait. */
export interface ModelRateLimit {
  /** Calls in flight. */
  readonly concurrency?: number
  readonly requestsPerMinute?: number
}

/** A model and its name for prompts. Prices are US dollars per million tokens. */
export interface ModelDefinition<
  Name extends string = string,
  Provider extends LanguageModelProvider = LanguageModelProvider,
  Fallback extends string = string,
> {
  /** Unique among models; best named for its use. */
  readonly name: Name
  readonly provider: Provider
  /** The provider's id of the model. */
  readonly model: ModelId<Provider>
  /**
   * Other models, tried in this order when this one fails finally, those without a capability that the request needs last; their
   * own fallbacks are not used.
   */
  readonly fallbacks?: readonly Fallback[]
  /** Shared by all models of the same provider object, among whose limits the strictest counts. */
  readonly rateLimit?: ModelRateLimit
  /**
   * The task queue for calls of prompts with this model, fallbacks included. A worker with this `taskQueue` has to run.
   * @default the thread's own
   */
  readonly taskQueue?: string
  readonly inputPrice?: number
  readonly outputPrice?: number
  /** For input tokens that the provider read from its cache. */
  readonly cachedPrice?: number
  readonly capabilities?: ModelCapabilities
  /** Options by provider key of the AI SDK. */
  readonly providerOptions?: SharedV4ProviderOptions
  /**
   * True: each request has the headers `x-everthread-session-id`, `-thread-id`, `-run-id`, `-step-id` and `-request-id`, and
   * `-tool-call-id` if a call asks, so that the logs of a gateway or provider can be joined with events. In ids of your own what is not
   * visible ASCII is percent-encoded.
   * @default false: ids stay here
   */
  readonly sendIds?: boolean
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

/** The version of the AI SDK's specification that models must have. */
const SPECIFICATION = 'v4'

/** How to get a release of a provider's package that fits, also for packages that are not known here. */
const INSTALL =
  'install the release of its package that depends on @ai-sdk/provider 4, such as @ai-sdk/openai@4'

/** The problem of a model for another version of the AI SDK, whose streams this runtime cannot read. */
export function modelVersionProblem(model: unknown): string | undefined {
  const version = versionOf(model)
  return version === SPECIFICATION ? undefined : problemOf(version)
}

/** The same for a provider, without creating a model. Older providers have no version; their models do. */
export function providerVersionProblem(provider: unknown): string | undefined {
  const version = versionOf(provider)
  return version === SPECIFICATION || version === undefined ? undefined : problemOf(version)
}

function versionOf(holder: unknown): unknown {
  if ((typeof holder !== 'object' && typeof holder !== 'function') || holder === null) return undefined
  return 'specificationVersion' in holder ? holder.specificationVersion : undefined
}

function problemOf(version: unknown): string {
  // The value may be anything, so only a text in the form of a version is shown.
  const got = typeof version === 'string' && /^[\w.-]{1,20}$/.test(version) ? version : 'another one'
  return `expected models of the AI SDK's specification ${SPECIFICATION}, got ${got}: ${INSTALL}`
}
