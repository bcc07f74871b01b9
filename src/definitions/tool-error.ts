/**
 * Errors that a tool throws, and what they say to the runtime.
 *
 * Owns: the error class for tools that know more than a message, and how the category of any thrown value is read. Does not own: what a
 * category means (`protocol/payloads/tool-failure.ts`).
 */
import { categoryOfStatus, TOOL_ERROR_CATEGORIES } from '../protocol/payloads/tool-failure.js'
import type { ToolErrorCategory } from '../protocol/payloads/tool-failure.js'

interface ToolErrorFacts {
  /** @default that of the status, else `unknown` */
  readonly category?: ToolErrorCategory
  /** For programs: the `errorCode` of the result. */
  readonly code?: string
  /** The status of an HTTP answer. */
  readonly status?: number
  /** Seconds after which the service wants the next attempt. */
  readonly retryAfter?: number
  readonly cause?: unknown
}

const MARKER = Symbol.for('everthread.ToolError')

/**
 * An error of a tool that says what kind of failure it is. Its message is what the model reads. A tool that throws anything else is
 * sorted by the status or the system code of the error, and else is `unknown`.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly category: ToolErrorCategory
  readonly code: string | null
  readonly status: number | null
  readonly retryAfter: number | null
  readonly [MARKER] = true

  constructor(message: string, { category, code, status, retryAfter, cause }: ToolErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.category = category ?? (status === undefined ? 'unknown' : categoryOfStatus(status))
    this.code = code ?? null
    this.status = status ?? null
    this.retryAfter = retryAfter ?? null
  }

  /** True for a ToolError of any copy of this package. */
  static isInstance(error: unknown): error is ToolError {
    return error instanceof Error && MARKER in error
  }
}

/** What a thrown value says beside its message. */
export interface ThrownFailure {
  readonly category: ToolErrorCategory
  readonly code: string | null
  readonly status: number | null
  /** Milliseconds. */
  readonly retryAfter: number
}

const NOTHING: ThrownFailure = { category: 'unknown', code: null, status: null, retryAfter: 0 }

/** Reads it. A value that throws when it is read says nothing. */
export function readThrownFailure(thrown: unknown): ThrownFailure {
  try {
    return ToolError.isInstance(thrown) ? ofToolError(thrown) : ofAnyError(thrown, 0)
  } catch {
    return NOTHING
  }
}

function ofToolError({ category, code, status, retryAfter }: ToolError): ThrownFailure {
  return {
    category: TOOL_ERROR_CATEGORIES.includes(category) ? category : 'unknown',
    code: typeof code === 'string' ? code : null,
    status: typeof status === 'number' ? status : null,
    retryAfter: typeof retryAfter === 'number' && retryAfter > 0 ? retryAfter * 1000 : 0,
  }
}

/** Of sockets and name servers: nothing has answered, or the connection broke. */
const SYSTEM_CODES: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT'],
  ...['EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'],
  'UND_ERR_BODY_TIMEOUT',
])

/** `fetch` wraps the error of the system once. */
const DEEPEST = 3

function ofAnyError(thrown: unknown, depth: number): ThrownFailure {
  if (typeof thrown !== 'object' || thrown === null || depth > DEEPEST) return NOTHING
  const { status, statusCode, code, name, cause } = thrown as Readonly<Record<string, unknown>>
  const answered = [status, statusCode].find(isErrorStatus)
  if (answered !== undefined) return { ...NOTHING, category: categoryOfStatus(answered), status: answered }
  if (SYSTEM_CODES.has(code)) return { ...NOTHING, category: 'transient' }
  if (name === 'TimeoutError') return { ...NOTHING, category: 'timeout' }
  return ofAnyError(cause, depth + 1)
}

function isErrorStatus(status: unknown): status is number {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600
}
