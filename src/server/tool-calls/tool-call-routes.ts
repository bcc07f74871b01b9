import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { HeldRemoteCall } from '../../client/remote-calls/held-call.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { answerBody } from '../answer-body.js'
import { bytesHeaders } from '../download-headers.js'
import { limitBodies } from '../limit-bodies.js'
import { ProblemError } from '../problem-error.js'
import { limitRates } from '../rate-limit.js'
import type { RateLimit } from '../rate-limit.js'
import { logBroken } from '../request-log.js'
import type { ServerContext, ServerEnv, ThreadApp, ThreadContext } from '../server-context.js'
import { bearerOf, callProblem, unauthorized } from './call-problem.js'
import { claimRoute, readFileRoute, resultRoute, writeFileRoute } from './call-routes.js'
import { toolWorkers } from './tool-worker.js'
import type { ToolWorker } from './tool-worker.js'
import { limitUnknownTokens } from './unknown-tokens.js'

export interface ToolCallRoutes extends Pick<ServerContext, 'client' | 'log'> {
  readonly workers: readonly ToolWorker[]
  /** Of each call. */
  readonly rateLimit: RateLimit | false
}

type WorkerOf = ReturnType<typeof toolWorkers>

/**
 * For workers in other languages (T5): a call is claimed with the worker's token, and worked at with a token for that
 * claim alone.
 * @throws ConfigError for workers that cannot be
 */
export function addToolCallRoutes(app: ThreadApp, server: ToolCallRoutes): void {
  const { client, workers, rateLimit } = server
  const { defaultHook } = app
  const routes = new OpenAPIHono<ServerEnv>(defaultHook === undefined ? {} : { defaultHook })
  routes.onError((error, context) => callProblem(context, error))
  describeTokens(routes)
  const workerOf = toolWorkers(workers)
  const isWorker = (token: string): boolean => workerOf(token) !== undefined
  const unknown = rateLimit === false ? null : limitUnknownTokens(rateLimit, isWorker)
  if (unknown !== null) routes.use('/tool-calls/*', unknown.limit)
  guard(routes, workerOf)
  limitCalls(routes, rateLimit)
  addClaim(routes, client, { workerOf, onToken: (token) => unknown?.know(token) })
  addFiles(routes, server)
  addResult(routes, client)
  app.route('/', routes)
}

/** Before a body is looked at: whoever has no token learns nothing of what is expected. */
function guard(routes: ThreadApp, workerOf: WorkerOf): void {
  routes.use('/tool-calls/*', async (context, next) => {
    bearerOf(context)
    await next()
  })
  routes.use('/tool-calls/:threadId/:callId/claim', async (context, next) => {
    workerWith(context, workerOf)
    await next()
  })
}

function limitCalls(routes: ThreadApp, rateLimit: RateLimit | false): void {
  if (rateLimit !== false) routes.use('/tool-calls/:threadId/:callId/*', limitRates(rateLimit, callKey))
  // Not those of files, which are streamed, and counted as they are.
  for (const route of ['claim', 'result']) routes.use(`/tool-calls/:threadId/:callId/${route}`, limitBodies())
}

/** A worker that repeats one call without end holds up none of its others; of unknown tokens nothing long is kept. */
function callKey(context: ThreadContext): string {
  const { threadId, callId, token } = heldBy(context)
  return createHash('sha256')
    .update(JSON.stringify([token, threadId, callId]))
    .digest('base64')
}

function workerWith(context: ThreadContext, workerOf: WorkerOf): ToolWorker {
  const worker = workerOf(bearerOf(context))
  if (worker === undefined) throw unauthorized()
  return worker
}

interface Claiming {
  readonly workerOf: WorkerOf
  readonly onToken: (token: string) => void
}

function addClaim(routes: ThreadApp, { remoteCalls }: ThreadClient, { workerOf, onToken }: Claiming): void {
  routes.openapi(claimRoute, async (context) => {
    const { taskQueues } = workerWith(context, workerOf)
    const { threadId, callId } = context.req.valid('param')
    const { claimId } = context.req.valid('json')
    const call = await remoteCalls.claim({ threadId, callId, claimId, taskQueues })
    onToken(call.token)
    return context.json({ ...call, variables: { ...call.variables } }, 200)
  })
}

function addFiles(routes: ThreadApp, server: Pick<ServerContext, 'client' | 'log'>): void {
  const { remoteCalls } = server.client
  routes.openapi(readFileRoute, async (context) => {
    const { path } = context.req.valid('query')
    const file = await remoteCalls.readFile(heldBy(context), path)
    if (file === null) throw new ProblemError(404, 'not_found', `There is no file ${path}.`)
    const headers = bytesHeaders({ ...file, name: posix.basename(path) })
    const body = answerBody(file.bytes, (failure) => logBroken(server, context, failure))
    return new Response(body, { headers })
  })
  routes.openapi(writeFileRoute, async (context) => {
    const given = {
      path: context.req.valid('query').path,
      mimeType: context.req.header('content-type') ?? 'application/octet-stream',
      data: context.req.raw.body ?? new Uint8Array(),
    }
    const { path, mimeType, size } = await remoteCalls.writeFile(heldBy(context), given)
    return context.json({ path, mimeType, size }, 200)
  })
}

function addResult(routes: ThreadApp, { remoteCalls }: ThreadClient): void {
  routes.openapi(resultRoute, async (context) => {
    await remoteCalls.answer(heldBy(context), context.req.valid('json'))
    return context.json({ status: 'accepted' as const }, 200)
  })
}

function heldBy(context: ThreadContext): HeldRemoteCall {
  const { threadId = '', callId = '' } = context.req.param()
  return { threadId, callId, token: bearerOf(context) }
}

function describeTokens(app: ThreadApp): void {
  const bearer = { type: 'http', scheme: 'bearer' } as const
  const schemes = { toolWorker: 'Of a worker in another language.', toolCall: 'Of one claim of one call.' }
  for (const [name, description] of Object.entries(schemes))
    app.openAPIRegistry.registerComponent('securitySchemes', name, { ...bearer, description })
}
