import { Readable } from 'node:stream'

import { OpenAPIHono } from '@hono/zod-openapi'
import { bodyLimit } from 'hono/body-limit'

import type { HeldRemoteCall } from '../../client/remote-calls/held-call.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { LIMITS } from '../../protocol/limits.js'
import { problemResponse } from '../error-response.js'
import { bearerOf, callProblem, unauthorized } from './call-problem.js'
import { claimRoute, readFileRoute, resultRoute, writeFileRoute } from './call-routes.js'
import { toolWorkers } from './tool-worker.js'
import type { ToolWorker } from './tool-worker.js'

export interface ToolCallRoutes {
  readonly client: ThreadClient
  readonly workers: readonly ToolWorker[]
}

/**
 * For workers in other languages (T5): a call is claimed with the worker's token, and worked at with a token for that
 * claim alone.
 * @throws ConfigError for workers that cannot be
 */
export function addToolCallRoutes(app: OpenAPIHono, { client, workers }: ToolCallRoutes): void {
  const { defaultHook } = app
  const routes = new OpenAPIHono(defaultHook === undefined ? {} : { defaultHook })
  routes.onError((error, context) => callProblem(context, error))
  describeTokens(routes)
  guard(routes)
  addClaim(routes, { client, workers })
  addFiles(routes, client)
  addResult(routes, client)
  app.route('/', routes)
}

/** Before a body is looked at: whoever has no token learns nothing of what is expected. */
function guard(routes: OpenAPIHono): void {
  routes.use('/tool-calls/*', async (context, next) => {
    bearerOf(context)
    await next()
  })
  for (const route of ['claim', 'result'])
    routes.use(`/tool-calls/:thread_id/:call_id/${route}`, limited(LIMITS.requestBytes))
  routes.use('/tool-calls/:thread_id/:call_id/files', limited(LIMITS.fileBytes))
}

function addClaim(routes: OpenAPIHono, { client, workers }: ToolCallRoutes): void {
  const workerOf = toolWorkers(workers)
  routes.openapi(claimRoute, async (context) => {
    const worker = workerOf(bearerOf(context))
    if (worker === undefined) throw unauthorized()
    const { thread_id: threadId, call_id: callId } = context.req.valid('param')
    const { claim_id: claimId } = context.req.valid('json')
    const { taskQueues } = worker
    const call = await client.remoteCalls.claim({ threadId, callId, claimId, taskQueues })
    const { token, deadline, tool, attempt, variables, expiresAt, idempotencyKey } = call
    const body = { token, expires_at: expiresAt, deadline, tool, attempt, idempotency_key: idempotencyKey }
    return context.json({ ...body, arguments: call.arguments, variables: { ...variables } }, 200)
  })
}

function addFiles(routes: OpenAPIHono, { remoteCalls }: ThreadClient): void {
  routes.openapi(readFileRoute, async (context) => {
    const { path } = context.req.valid('query')
    const file = await remoteCalls.readFile(heldBy(context), path)
    if (file === null) return problemResponse(context, 404, 'not_found', `There is no file ${path}.`)
    const headers = { 'Content-Type': file.mimeType, 'Content-Length': String(file.size) }
    return new Response(Readable.toWeb(Readable.from(file.bytes)) as ReadableStream, { headers })
  })
  routes.openapi(writeFileRoute, async (context) => {
    const { path } = context.req.valid('query')
    const mimeType = context.req.header('content-type') ?? 'application/octet-stream'
    const data = context.req.raw.body ?? new Uint8Array()
    const { size } = await remoteCalls.writeFile(heldBy(context), { path, mimeType, data })
    return context.json({ path, mime_type: mimeType, size }, 200)
  })
}

function addResult(routes: OpenAPIHono, { remoteCalls }: ThreadClient): void {
  routes.openapi(resultRoute, async (context) => {
    await remoteCalls.answer(heldBy(context), context.req.valid('json'))
    return context.json({ status: 'accepted' as const }, 200)
  })
}

type Asked = Parameters<typeof bearerOf>[0]

function heldBy(context: Asked): HeldRemoteCall {
  const { thread_id: threadId = '', call_id: callId = '' } = context.req.param()
  return { threadId, callId, token: bearerOf(context) }
}

function limited(maxSize: number): ReturnType<typeof bodyLimit> {
  return bodyLimit({
    maxSize,
    onError: (context) => problemResponse(context, 413, 'too_large', `Expected at most ${maxSize} bytes.`),
  })
}

function describeTokens(app: OpenAPIHono): void {
  const bearer = { type: 'http', scheme: 'bearer' } as const
  const schemes = { toolWorker: 'Of a worker in another language.', toolCall: 'Of one claim of one call.' }
  for (const [name, description] of Object.entries(schemes))
    app.openAPIRegistry.registerComponent('securitySchemes', name, { ...bearer, description })
}
