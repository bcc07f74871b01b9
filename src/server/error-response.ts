import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ThreadClient } from '../client/thread-client.js'
import { ConfigError, NotQueuedError, RequestNotFoundError, ThreadError } from '../protocol/errors.js'
import { FileError } from '../store/files/file-checks.js'
import type { FileErrorCode } from '../store/files/file-checks.js'
import { StoreError } from '../store/store-error.js'
import type { ThreadContext } from './server-context.js'

/** The answer to a request that failed. */
interface Problem {
  readonly status: ContentfulStatusCode
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const THREAD_STATUS: Readonly<Record<string, ContentfulStatusCode>> = {
  thread_not_found: 404,
  thread_conflict: 409,
  unknown_agent: 400,
  thread_terminated: 409,
  message_rejected: 400,
  thread_busy: 409,
  message_not_found: 404,
  not_cancelable: 409,
  request_not_found: 404,
  approval_forbidden: 403,
  not_queued: 404,
  no_worker: 503,
  timeout: 504,
  temporal_unavailable: 503,
}

const FILE_STATUS: Readonly<Record<FileErrorCode, ContentfulStatusCode>> = {
  invalid_path: 400,
  invalid_content: 400,
  not_found: 404,
  is_folder: 409,
  is_file: 409,
  not_a_folder: 409,
  not_empty: 409,
}

const INTERNAL: Problem = {
  status: 500,
  code: 'internal',
  message: 'The request could not be carried out.',
}

/** Only the operator can fix this: a retry does not help. */
const NO_KEY =
  'Expected this server to have the key of the secrets, got none or another one: its operator sets EVERTHREAD_SECRET_KEY.'

/** One second: failures with this header pass by themselves. */
const SOON = { 'Retry-After': '1' }

/** The header that says how many requests are left. */
export const REMAINING = 'X-RateLimit-Remaining'

/** Maps a thrown error to a status and the one shape of an error. The text of an error that is not for callers is left out (T5). */
export function errorResponse(context: ThreadContext, error: unknown): Response {
  const problem = problemOf(error, context.get('keyless') === true)
  const { status, code, message, headers = {} } = problem
  if (status >= 500) context.set('failure', error)
  for (const [name, value] of Object.entries(headers)) context.header(name, value)
  return problemResponse(context, status, code, message)
}

/** What a caller is told of an error. `isKeyless`: its request had no key, so that it is not safe again. */
export function problemOf(error: unknown, isKeyless: boolean): Problem {
  const problem = plainProblem(error)
  return isKeyless && problem.headers === SOON ? keylessProblem(problem) : problem
}

/** Without a key a retry is a second request, and the first one may have been carried out. */
function keylessProblem({ status, code, message }: Problem): Problem {
  const [what = ''] = message.split(': ')
  const why =
    'this request had no "key", so that it may have been accepted, and again it would be another one'
  return { status, code, message: `${what}: ${why}. Look first, and give a "key".` }
}

/** What a caller may read of an error. */
export function plainProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error
  if (ThreadError.isInstance(error)) return threadProblem(error)
  if (FileError.isInstance(error))
    return { status: FILE_STATUS[error.code], code: `file_${error.code}`, message: error.message }
  if (StoreError.isInstance(error)) return storeProblem(error)
  if (error instanceof HTTPException && error.status < 500) return honoProblem(error)
  return INTERNAL
}

/** Errors that Hono itself throws, such as for a body that is no JSON. */
function honoProblem({ status, message }: HTTPException): Problem {
  if (status === 401) return unauthorizedError()
  if (status === 415)
    return { status, code: 'unsupported_media_type', message: 'Expected a body of type application/json.' }
  return { status: status as ContentfulStatusCode, code: 'bad_request', message }
}

function threadProblem(error: ThreadError): Problem {
  const { code, message } = error
  if (RequestNotFoundError.isInstance(error) && error.answered)
    return { status: 409, code: 'request_answered', message }
  if (NotQueuedError.isInstance(error) && error.delivered) return { status: 409, code, message }
  // Its message names addresses.
  if (code === 'temporal_unavailable')
    return {
      ...{ status: 503, code, headers: SOON },
      message:
        'Expected an answer of Temporal, got none: what was accepted is kept, the same request again is safe.',
    }
  const status = THREAD_STATUS[code] ?? 500
  return { status, code, message, ...(status === 503 && { headers: SOON }) }
}

/** Messages of the store name places of this machine, so callers get others. */
function storeProblem({ code, message }: StoreError): Problem {
  if (code === 'too_large') return { status: 413, code, message }
  if (code === 'no_key') return { status: 500, code: 'no_key', message: NO_KEY }
  if (code === 'busy' || code === 'unavailable')
    return {
      ...{ status: 503, code: 'store_unavailable', headers: SOON },
      message: 'Expected an answer of the store, got none: try again.',
    }
  return INTERNAL
}

/** The one shape of an error. */
export function problemResponse(
  context: ThreadContext,
  status: ContentfulStatusCode,
  code: string,
  message: string,
): Response {
  if (status === 401) context.header('WWW-Authenticate', 'Bearer')
  return context.json({ error: { code, message, requestId: context.get('requestId') } }, status)
}

/** A refusal by a route itself; its message is for the caller. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly status: ContentfulStatusCode
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: ContentfulStatusCode,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** The refusal of a request without a token that is valid here; `expected` completes "with …". */
export function unauthorizedError(expected = 'a token of this server'): ProblemError {
  return new ProblemError(
    401,
    'unauthorized',
    `Expected the header "Authorization: Bearer <token>" with ${expected}.`,
  )
}

/**
 * Runs `work` and answers its ConfigErrors, which are about the caller's input, with 400. The store opens before: a
 * ConfigError of the store is no fault of the caller, who must not read it.
 */
export async function answerConfigErrors<T>(client: ThreadClient, work: () => Promise<T>): Promise<T> {
  await client.find('')
  try {
    return await work()
  } catch (error) {
    if (ConfigError.isInstance(error)) throw new ProblemError(400, 'bad_request', error.problems.join(' '))
    throw error
  }
}
