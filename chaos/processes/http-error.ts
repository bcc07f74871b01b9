import {
  MessageRejectedError,
  RequestNotFoundError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from 'everthread'

/** Of a server that is away, or that stands before one which is. */
const AWAY: ReadonlySet<number> = new Set([502, 503])

/** A request that brought nothing: it was cut, or refused in words that are no error of the package's client. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  /** Whether the same request again is safe, and may be answered. */
  readonly passing: boolean

  /** `status` null: no answer, or not the whole of one. */
  constructor(status: number | null, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.passing = status === null || AWAY.has(status)
  }
}

/** What a request was about. */
export interface Asked {
  readonly threadId: string
  readonly requestId?: string
}

/** A refusal as the package's client throws it, where it has an error for it: both are judged by the same rules. */
export function refusalOf(status: number, body: string, { threadId, requestId: id = '' }: Asked): Error {
  const { code, message: reason } = problemIn(body)
  switch (code) {
    case 'request_not_found':
      return new RequestNotFoundError(threadId, { id, reason })
    case 'request_answered':
      return new RequestNotFoundError(threadId, { id, reason, answered: true })
    case 'message_rejected':
      return new MessageRejectedError(threadId, reason)
    case 'thread_not_found':
      return new ThreadNotFoundError(threadId)
    case 'thread_terminated':
      return new ThreadTerminatedError(threadId, 'closed')
    default:
      return new HttpError(status, `${status} ${code}: ${reason}`)
  }
}

interface Problem {
  readonly code: string
  readonly message: string
}

/** What stands before a server answers in words of its own. */
function problemIn(body: string): Problem {
  try {
    const { error } = JSON.parse(body) as { readonly error?: Partial<Problem> }
    return { code: error?.code ?? 'none', message: error?.message ?? body }
  } catch {
    return { code: 'none', message: body }
  }
}
