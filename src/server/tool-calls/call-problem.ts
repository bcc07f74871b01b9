import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { RemoteCallError } from '../../client/remote-calls/remote-call-error.js'
import type { RemoteCallProblem } from '../../client/remote-calls/remote-call-error.js'
import { errorResponse, problemResponse } from '../error-response.js'
import { ProblemError } from '../problem-error.js'
import { bearerToken } from '../secret-tokens.js'
import type { ThreadContext } from '../server-context.js'

const STATUS: Readonly<Record<RemoteCallProblem, ContentfulStatusCode>> = {
  not_found: 404,
  taken: 409,
  answered: 409,
  ended: 410,
  token: 401,
  file: 400,
  file_size: 413,
}

/** What a worker can do about it, as a status and a body. */
export function callProblem(context: ThreadContext, error: Error): Response {
  return RemoteCallError.isInstance(error)
    ? problemResponse(context, STATUS[error.problem], error.code, error.message)
    : errorResponse(context, error)
}

/** The token of `Authorization: Bearer …`. @throws ProblemError 401 */
export function bearerOf(context: ThreadContext): string {
  const token = bearerToken(context.req.header('authorization'))
  if (token === undefined) throw unauthorized()
  return token
}

export function unauthorized(): ProblemError {
  return new ProblemError(
    401,
    'unauthorized',
    'Expected the header "Authorization: Bearer <token>" with the token of a worker, or of a call.',
  )
}
