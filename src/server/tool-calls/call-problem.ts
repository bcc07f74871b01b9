import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

import { RemoteCallError } from '../../client/remote-calls/remote-call-error.js'
import type { RemoteCallProblem } from '../../client/remote-calls/remote-call-error.js'
import { errorResponse, problemResponse } from '../error-response.js'

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
export function callProblem(context: Context, error: Error): Response {
  return RemoteCallError.isInstance(error)
    ? problemResponse(context, STATUS[error.problem], error.code, error.message)
    : errorResponse(context, error)
}

/** The token of `Authorization: Bearer …`. @throws HTTPException 401 */
export function bearerOf(context: Context): string {
  const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(context.req.header('authorization') ?? '') ?? []
  if (token === undefined) throw unauthorized()
  return token
}

export function unauthorized(): HTTPException {
  const headers = { 'WWW-Authenticate': 'Bearer realm=""' }
  return new HTTPException(401, { res: new Response(null, { status: 401, headers }) })
}
