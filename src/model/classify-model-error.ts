import { APICallError } from '@ai-sdk/provider'
import { retryAfterOf } from '../egress/retry-after.js'
import { ModelError } from './model-error.js'
import type { ModelErrorKind } from './model-error.js'

type Verdict = { readonly kind: ModelErrorKind; readonly retryable: boolean }

const NETWORK_CODES =
  /^(E(CONN\w+|PIPE|TIMEDOUT|AI_AGAIN|NOTFOUND|HOSTUNREACH|NETUNREACH)|UND_ERR_\w+|Connection\w+)$/
const NETWORK_MESSAGES = /^(fetch failed|failed to fetch|terminated|socket hang up|network error)$/i
/** The plain error of @ai-sdk/anthropic for a stream whose first event cannot be read. */
const UNREADABLE_START = /^Expected a normalized .* stream error$/
const CONTEXT_TOO_LONG =
  /context.?(length|window)|maximum context|prompt is too long|input is too long|too many (input )?tokens|(input|prompt) token count/i
const CONTENT_FILTER = /content.?(filter|policy)|content management policy|safety system/i
/**
 * The messages of providers for an account without credit, where no wait helps; they come with 400, 402, 403 and 429.
 */
const OUT_OF_CREDIT =
  /insufficient_quota|credit balance is too low|billing_(hard_limit_reached|not_active)|insufficient (balance|credits|funds)|out of credits|used all available credits/i

/** The `type` or `code` of an error inside a stream, which has no status, and the status that it stands for. */
const STREAM_ERRORS: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|insufficient_quota/, 429],
  [/overloaded|slow_down|unavailable/, 503],
  [/api_error|server_error|timeout/, 500],
  [/billing|credit/, 402],
  [/authentication/, 401],
  [/permission/, 403],
  [/too_large/, 413],
  [/invalid|not_found|context_length|content_filter/, 400],
]

/** Errors of the AI SDK that have no status, by name. */
const NAMED_ERRORS: Readonly<Record<string, Verdict>> = {
  AI_LoadAPIKeyError: { kind: 'authentication', retryable: false },
  AI_LoadSettingError: { kind: 'bad_request', retryable: false },
  AI_NoSuchModelError: { kind: 'bad_request', retryable: false },
  AI_UnsupportedFunctionalityError: { kind: 'bad_request', retryable: false },
  AI_InvalidArgumentError: { kind: 'bad_request', retryable: false },
  AI_InvalidPromptError: { kind: 'bad_request', retryable: false },
  AI_TypeValidationError: { kind: 'incomplete', retryable: true },
  AI_JSONParseError: { kind: 'incomplete', retryable: true },
  AI_InvalidResponseDataError: { kind: 'incomplete', retryable: true },
  AI_EmptyResponseBodyError: { kind: 'incomplete', retryable: true },
  AI_NoContentGeneratedError: { kind: 'incomplete', retryable: true },
  AbortError: { kind: 'unavailable', retryable: true },
  TimeoutError: { kind: 'unavailable', retryable: true },
}

/**
 * Classifies any failure of a provider; follows causes and wrappers such as RetryError, safe against cycles. An
 * unrecognised error is `unknown` and not retried, because it is most likely a bug.
 */
export function classifyModelError(error: unknown): ModelError {
  try {
    return classify(error)
  } catch {
    // Code may throw anything, even a value that itself throws on being read.
    const message = 'The provider reported an error that cannot be read.'
    return new ModelError({ kind: 'unknown', message, retryable: false })
  }
}

function classify(error: unknown): ModelError {
  for (const candidate of errorChain(error)) {
    if (ModelError.isInstance(candidate)) return candidate
    const found = classifyOne(candidate)
    if (found) return found
  }
  if (error instanceof Error) return errorOf(error, { kind: 'unknown', retryable: false })
  // A provider that ends its own stream with an unnamed error has most likely a temporary problem.
  return errorOf(error, { kind: 'unavailable', retryable: true })
}

function classifyOne(error: unknown): ModelError | undefined {
  if (APICallError.isInstance(error)) return classifyApiCall(error)
  if (!isRecord(error)) return undefined
  const { name, code, message } = error
  if (typeof name === 'string' && error instanceof Error) {
    const named = NAMED_ERRORS[name]
    if (named) return errorOf(error, named)
  }
  const isNetwork =
    (typeof code === 'string' && NETWORK_CODES.test(code)) ||
    (typeof message === 'string' && NETWORK_MESSAGES.test(message))
  if (typeof message === 'string' && UNREADABLE_START.test(message))
    return errorOf(error, { kind: 'incomplete', retryable: true })
  if (isNetwork) return errorOf(error, { kind: 'unavailable', retryable: true })
  return error instanceof Error ? undefined : classifyStreamError(error)
}

function classifyApiCall(error: APICallError): ModelError {
  const detail = `${error.message}\n${error.responseBody ?? ''}`
  const verdict =
    error.statusCode === undefined
      ? ({ kind: error.isRetryable ? 'unavailable' : 'unknown', retryable: error.isRetryable } as const)
      : verdictOf(error.statusCode, detail, error.isRetryable)
  const prefix = error.statusCode === undefined ? '' : `The provider answered ${error.statusCode}: `
  return new ModelError({
    ...verdict,
    message: prefix + error.message,
    retryAfter: verdict.retryable
      ? (retryAfterOf(error.responseHeaders) ?? retryDelayOf(error.responseBody))
      : null,
    cause: error,
  })
}

/** Error parts of streams are plain objects, possibly nested: `{ type, message, code?, statusCode?, isRetryable? }`. */
function classifyStreamError(error: Readonly<Record<string, unknown>>): ModelError | undefined {
  const words = [error['code'], error['type']].filter((word) => typeof word === 'string').join(' ')
  const status = error['statusCode'] ?? STREAM_ERRORS.find(([pattern]) => pattern.test(words))?.[1]
  if (typeof status !== 'number') return undefined
  const isRetryable = error['isRetryable'] ?? isRetryableStatus(status)
  return errorOf(error, verdictOf(status, `${words}\n${messageOf(error)}`, isRetryable === true))
}

function verdictOf(status: number, detail: string, isRetryable: boolean): Verdict {
  if (status === 402 || (status < 500 && OUT_OF_CREDIT.test(detail)))
    return { kind: 'out_of_credit', retryable: false }
  if (status === 429) return { kind: 'rate_limited', retryable: isRetryable }
  if (status === 401 || status === 403) return { kind: 'authentication', retryable: false }
  if (status === 413) return { kind: 'context_too_long', retryable: false }
  if (status === 503 || status === 529) return { kind: 'overloaded', retryable: isRetryable }
  if (status === 408 || status === 409 || status >= 500)
    return { kind: 'unavailable', retryable: isRetryable }
  if (status < 300) return { kind: 'incomplete', retryable: true }
  if (CONTEXT_TOO_LONG.test(detail)) return { kind: 'context_too_long', retryable: false }
  if (CONTENT_FILTER.test(detail)) return { kind: 'content_filter', retryable: false }
  return { kind: 'bad_request', retryable: isRetryable }
}

function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

function errorOf(error: unknown, verdict: Verdict): ModelError {
  return new ModelError({ ...verdict, message: messageOf(error), cause: error })
}

function messageOf(error: unknown): string {
  for (const candidate of errorChain(error)) {
    const message = isRecord(candidate) ? candidate['message'] : candidate
    if (typeof message === 'string' && message !== '') return message
  }
  return 'The provider reported an error without a message.'
}

/** The error, its wrapped errors and its causes, nearest first; of several attempts the last comes first. */
function errorChain(error: unknown): readonly unknown[] {
  const seen = new Set<unknown>([error])
  for (const current of seen) {
    if (!isRecord(current)) continue
    const { cause, errors, error: nested } = current
    const wrapped = Array.isArray(errors) ? errors.toReversed() : []
    for (const next of [...wrapped, cause, nested]) {
      if (next !== undefined && next !== null) seen.add(next)
    }
  }
  return [...seen]
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Google writes the delay into the body of its 429 and sends no header. */
const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/

/** The wait in milliseconds that the body of a refusal asks for, or null. */
function retryDelayOf(body: string | undefined): number | null {
  const seconds = RETRY_DELAY.exec(body ?? '')?.[1]
  return seconds === undefined ? null : Math.ceil(Number(seconds) * 1000)
}
