import type { ModelFile, ModelUsage } from './model-answer.js'

const errorMarker = Symbol.for('everthread.error.ModelError')

/** Provider messages can be whole HTML pages; a person reads no more than this. */
const MESSAGE_LENGTH = 1000

/**
 * `stalled`: silent or too slow. `incomplete`: the answer was truncated or could not be read. `too_large`: the answer
 * exceeded the limit of bytes. `context_too_long`: the request was too long for the model. `throttled`: the worker's own
 * limit for the provider admitted no request. `overloaded`: the provider has too much load at present. `paused`: the
 * provider asked for a pause, and no request was sent. `out_of_credit`: the account needs a payment.
 * `unsupported_version`: the provider package has another version of the AI SDK; the message is written here.
 * `not_registered`: no worker has had the model's definition for a minute. `script_ended`: a scripted model got more
 * requests than its script has replies.
 */
export type ModelErrorKind =
  | 'rate_limited'
  | 'throttled'
  | 'overloaded'
  | 'paused'
  | 'out_of_credit'
  | 'unavailable'
  | 'bad_request'
  | 'authentication'
  | 'context_too_long'
  | 'content_filter'
  | 'stalled'
  | 'incomplete'
  | 'too_large'
  | 'unsupported_version'
  | 'not_registered'
  | 'script_ended'
  | 'unknown'

/**
 * A failed attempt at a model call, classified once at this boundary. Message and cause may contain content of the
 * conversation: they belong in the store, never in Temporal (T5).
 */
export class ModelError extends Error {
  static isInstance(error: unknown): error is ModelError {
    return typeof error === 'object' && error !== null && errorMarker in error
  }

  override readonly name = 'ModelError'
  readonly [errorMarker] = true
  readonly kind: ModelErrorKind
  /** True if the same request may succeed on the same model a little later. */
  readonly retryable: boolean
  /** The wait that the provider asked for, in milliseconds. */
  readonly retryAfter: number | null
  /** The usage of the failed attempt, if the provider reported one. */
  readonly usage: ModelUsage | null

  constructor(options: {
    readonly kind: ModelErrorKind
    readonly message: string
    readonly retryable: boolean
    readonly retryAfter?: number | null
    readonly usage?: ModelUsage | null
    readonly cause?: unknown
  }) {
    super(options.message.slice(0, MESSAGE_LENGTH), { cause: options.cause })
    this.kind = options.kind
    this.retryable = options.retryable
    this.retryAfter = options.retryAfter ?? null
    this.usage = options.usage ?? null
  }
}

/** True if the provider asks for a later request, as opposed to a failure of its own. */
export function asksForPause({ kind, retryable, retryAfter }: ModelError): boolean {
  return retryable && (retryAfter !== null || PAUSES.has(kind))
}

const PAUSES: ReadonlySet<ModelErrorKind> = new Set(['rate_limited', 'overloaded', 'throttled', 'paused'])

const abortedMarker = Symbol.for('everthread.error.ModelAbortedError')

/** The part of an answer that had arrived when its caller stopped the call. */
export interface PartialAnswer {
  readonly text: string
  readonly reasoning: string | null
  readonly files: readonly ModelFile[]
}

/**
 * The caller's own signal ended a model call. This is no fault of the provider, so no retry and no fallback follows.
 */
export class ModelAbortedError extends Error {
  static isInstance(error: unknown): error is ModelAbortedError {
    return typeof error === 'object' && error !== null && abortedMarker in error
  }

  override readonly name = 'ModelAbortedError'
  readonly [abortedMarker] = true
  /** A stopped run can show the text that the person has already read. */
  readonly partial: PartialAnswer

  constructor({ partial, cause }: { readonly partial: PartialAnswer; readonly cause: unknown }) {
    super('The model call was stopped by its caller.', { cause })
    this.partial = partial
  }
}
