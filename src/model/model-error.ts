import type { ModelFile, ModelUsage } from './model-answer.js'

const errorMarker = Symbol.for('everthread.error.ModelError')

/** Provider messages can be whole HTML pages; this keeps what a person can read. */
const MESSAGE_LENGTH = 1000

/**
 * `stalled`: silent or too slow. `incomplete`: the answer was cut or could not be read. `too_large`: the answer
 * passed the limit of bytes. `context_too_long`: the request was too long for the model. `throttled`: our own limit
 * for its provider let no request through. `overloaded`: the provider has too much to do for now. `paused`: it asked for
 * a pause, and no request was sent. `out_of_credit`: somebody has to pay. `unsupported_version`: its provider is of
 * another version of the AI SDK; the message is ours. `not_registered`: no worker has had its definition for a minute. `script_ended`: a
 * scripted model was asked more often than its script has replies.
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
 * A failed attempt at a model call, classified once at this edge. Message and cause may hold content of the
 * conversation: they belong into the store, never into Temporal (T5).
 */
export class ModelError extends Error {
  static isInstance(error: unknown): error is ModelError {
    return typeof error === 'object' && error !== null && errorMarker in error
  }

  override readonly name = 'ModelError'
  readonly [errorMarker] = true
  readonly kind: ModelErrorKind
  /** Whether the same request may succeed on the same model a little later. */
  readonly retryable: boolean
  /** Milliseconds that the provider asked to wait. */
  readonly retryAfter: number | null
  /** What the provider says that it cost all the same. */
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

/** Whether the provider says that the same request may succeed later, rather than that something broke. */
export function asksForPause({ kind, retryable, retryAfter }: ModelError): boolean {
  return retryable && (retryAfter !== null || PAUSES.has(kind))
}

const PAUSES: ReadonlySet<ModelErrorKind> = new Set(['rate_limited', 'overloaded', 'throttled', 'paused'])

const abortedMarker = Symbol.for('everthread.error.ModelAbortedError')

/** What had arrived of an answer when its caller stopped it. */
export interface PartialAnswer {
  readonly text: string
  readonly reasoning: string | null
  readonly files: readonly ModelFile[]
}

/** The caller's own signal ended a model call: never a fault of the provider, so never retried and no fallback. */
export class ModelAbortedError extends Error {
  static isInstance(error: unknown): error is ModelAbortedError {
    return typeof error === 'object' && error !== null && abortedMarker in error
  }

  override readonly name = 'ModelAbortedError'
  readonly [abortedMarker] = true
  /** Kept so that a stopped run can show what the person had already read. */
  readonly partial: PartialAnswer

  constructor({ partial, cause }: { readonly partial: PartialAnswer; readonly cause: unknown }) {
    super('The model call was stopped by its caller.', { cause })
    this.partial = partial
  }
}
