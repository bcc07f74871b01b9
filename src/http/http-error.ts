/** The errors of `everthread/http`. */

const MARKER = Symbol.for('everthread.HttpError')

interface Failure {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retryAfter?: number
  readonly requestId?: string
  readonly cause?: unknown
}

/** A request that was refused, or had no answer. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  /** Of the answer; 0: there was none. */
  readonly status: number
  /** As `docs/errors.md` lists them; `no_answer`: the server could not be reached; `unknown`: the answer is none of this API. */
  readonly code: string
  /** Seconds after which the same request may succeed, and is safe; null: the server does not say so. */
  readonly retryAfter: number | null
  /** Under which the server's log has the request; null: it has none. */
  readonly requestId: string | null
  readonly [MARKER] = true

  constructor({ status, code, message, retryAfter, requestId, cause }: Failure) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.retryAfter = retryAfter ?? null
    this.requestId = requestId ?? null
  }

  /** True for an HttpError of any copy of this package. */
  static isInstance(error: unknown): error is HttpError {
    return error instanceof Error && MARKER in error
  }

  /** True for a request that may succeed later, unchanged. */
  static mayPass(error: unknown): boolean {
    if (!HttpError.isInstance(error)) return false
    return error.status === 0 || error.status === 429 || error.status >= 500
  }
}
