import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

import { RequestNotFoundError, ThreadError } from '../protocol/thread-error.js'

const STATUS: Readonly<Record<string, ContentfulStatusCode>> = {
  thread_not_found: 404,
  thread_conflict: 409,
  thread_terminated: 409,
  message_rejected: 400,
  request_not_found: 404,
  not_queued: 409,
  no_worker: 503,
  timeout: 504,
  temporal_unavailable: 503,
}

const CODES: Readonly<Record<number, string>> = { 400: 'bad_request', 401: 'unauthorized' }

/** What the client throws as a status and a body; whatever else it is stays inside. */
export function errorResponse(context: Context, error: Error): Response {
  if (RequestNotFoundError.isInstance(error) && error.answered)
    return problemResponse(context, 409, 'request_answered', error.message)
  if (ThreadError.isInstance(error))
    return problemResponse(context, STATUS[error.code] ?? 500, error.code, error.message)
  if (error instanceof HTTPException) return httpResponse(context, error)
  return problemResponse(context, 500, 'internal', 'The request could not be carried out.')
}

/** Of Hono's own parts: they say in headers what is expected. */
function httpResponse(context: Context, error: HTTPException): Response {
  const { headers } = error.getResponse()
  const expected = headers.get('www-authenticate')
  if (expected !== null) context.header('WWW-Authenticate', expected)
  const status = error.status as ContentfulStatusCode
  const words = status === 401 ? 'Expected the header "Authorization: Bearer <token>".' : error.message
  return problemResponse(context, status, CODES[status] ?? 'error', words)
}

/** The one shape of an error. */
export function problemResponse(
  context: Context,
  status: ContentfulStatusCode,
  code: string,
  message: string,
): Response {
  return context.json({ error: { code, message } }, status)
}
