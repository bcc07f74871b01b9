import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import type { HttpBindings } from '@hono/node-server'
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { RemoteCallError } from '../../client/remote-calls.js'
import type { HeldRemoteCall, RemoteCallProblem } from '../../client/remote-calls.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { errorResponse, ProblemError, problemResponse, unauthorizedError } from '../error-response.js'
import { answerBody, bytesHeaders } from '../file-response.js'
import { limitBodies } from '../limits/limit-bodies.js'
import { countRates, limitRates } from '../limits/rate-limit.js'
import type { RateLimit } from '../limits/rate-limit.js'
import { logBrokenAnswer } from '../request-log.js'
import { json, jsonBody, microseconds, problem, refusals as always } from '../schemas.js'
import { runContext } from '../thread-schemas.js'
import type { ServerContext, ServerEnv, ThreadApp, ThreadContext } from '../server-context.js'
import { bearerToken, createOwnerFinder, tokenDigest, tokenProblems } from '../tokens/tokens.js'
import type { TokenOwner } from '../tokens/tokens.js'

/** How many verified tokens of calls are kept, at 64 bytes each: more calls are rarely in flight at a time. */
const KNOWN_TOKENS = 10_000

const STATUS: Readonly<Record<RemoteCallProblem, ContentfulStatusCode>> = {
  not_found: 404,
  taken: 409,
  answered: 409,
  ended: 410,
  token: 401,
  file: 400,
  file_size: 413,
}

/** Maps the failure of a worker's request to a status and the one shape of an error. */
function callProblem(context: ThreadContext, error: Error): Response {
  return RemoteCallError.isInstance(error)
    ? problemResponse(context, STATUS[error.problem], error.code, error.message)
    : errorResponse(context, error)
}

/** The token of `Authorization: Bearer …`. @throws ProblemError 401 */
function bearerOf(context: ThreadContext): string {
  const token = bearerToken(context.req.header('authorization'))
  if (token === undefined) throw unauthorizedError(A_TOKEN)
  return token
}

const A_TOKEN = 'the token of a worker, or of a call'

const params = z.object({
  threadId: z.string().openapi({ description: 'From the input of the activity.' }),
  callId: z.string().openapi({ description: 'From the input of the activity.' }),
})

const filePath = z.strictObject({
  path: z.string().min(1).openapi({ description: 'Absolute in the thread.', example: '/notes/plan.md' }),
})

const claimRequest = z
  .strictObject({
    claimId: z.string().min(1).max(LIMITS.nameLength).openapi({
      description: 'Made anew for each attempt of the activity; the same one again is the same claim.',
    }),
  })
  .openapi('ToolCallClaimRequest')

const claimed = z
  .object({
    token: z.string().openapi({ description: 'For the other routes of this call. Do not store it.' }),
    expiresAt: microseconds.openapi({ description: 'When the token expires; microseconds since 1970.' }),
    deadline: microseconds.openapi({ description: 'When the tool times out; microseconds since 1970.' }),
    tool: z.string(),
    attempt: z.number().int().openapi({ description: 'From 1: how often the call was claimed.' }),
    idempotencyKey: z.string().openapi({ description: 'The same in every attempt.' }),
    arguments: z
      .record(z.string(), z.any())
      .openapi({ description: 'Checked against the schema of the tool.' }),
    variables: z.record(z.string(), z.string()).openapi({ description: 'Those that the tool declares.' }),
    traceparent: z.string().nullable().openapi({
      description: "W3C trace context of the call: the parent of the worker's spans; null without tracing.",
    }),
    stepId: z.string().nullable().openapi({ description: 'The step of the call, as events have it.' }),
    runContext: runContext.nullable(),
  })
  .openapi('ToolCallClaim')

const file = z.strictObject({ path: z.string(), description: z.string().optional() })

/** JSON only: files are written before it, and named by their paths. */
const toolResult = z
  .strictObject({
    status: z.enum(['success', 'error']),
    result: z.json().optional().openapi({ description: 'Any JSON; what the model reads.', type: 'object' }),
    content: z
      .array(
        z.union([
          z.strictObject({ type: z.literal('text'), text: z.string() }),
          z.strictObject({ type: z.literal('file'), file }),
        ]),
      )
      .optional(),
    error: z.string().optional().openapi({ description: 'What the model reads of an error.' }),
    error_code: z.string().optional(),
    attachments: z.array(file).optional(),
  })
  .openapi('ToolCallResult')

const accepted = z.object({ status: z.literal('accepted') }).openapi('ToolCallAccepted')

const stored = z
  .object({ path: z.string(), mimeType: z.string(), size: z.number().int() })
  .openapi('ToolCallFile')

const path = '/tool-calls/{threadId}/{callId}'

const shared = { tags: ['tool-calls'] }

const bytes = z.string().openapi({ type: 'string', format: 'binary' })

const refusals = {
  ...always,
  401: json('The token is missing, wrong, or of an earlier claim.', problem),
  410: json('The call has ended: nothing is accepted any more.', problem),
}

/** Needs the worker's token. */
const claimRoute = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/claim`,
  operationId: 'claimToolCall',
  security: [{ toolWorker: [] }],
  summary: 'Takes a call: its arguments, and a token for the other routes.',
  request: { params, body: jsonBody(claimRequest) },
  responses: {
    200: json('The call is yours.', claimed),
    ...refusals,
    404: json('No such call on the task queues of this worker.', problem),
    409: json('Taken and not to be repeated, or answered: end the activity.', problem),
    413: json('The body is too large.', problem),
    415: json('The body is of another type.', problem),
  },
})

/** Needs the call's token, like the routes that follow. */
const readFileRoute = createRoute({
  ...shared,
  method: 'get',
  path: `${path}/files`,
  operationId: 'readToolCallFile',
  security: [{ toolCall: [] }],
  summary: 'A file of the thread, or one that the call has written.',
  request: { params, query: filePath },
  responses: {
    200: { description: 'Its bytes.', content: { '*/*': { schema: bytes } } },
    ...refusals,
    404: json('No such file.', problem),
    409: json('The call is answered.', problem),
  },
})

const writeFileRoute = createRoute({
  ...shared,
  method: 'put',
  path: `${path}/files`,
  operationId: 'writeToolCallFile',
  security: [{ toolCall: [] }],
  summary: 'Writes a file, which the result adds to the thread; Content-Type is its type.',
  request: { params, query: filePath, body: { required: true, content: { '*/*': { schema: bytes } } } },
  responses: {
    200: json('Kept for the call.', stored),
    ...refusals,
    409: json('The call is answered.', problem),
    413: json('The file is too large.', problem),
  },
})

const resultRoute = createRoute({
  ...shared,
  method: 'post',
  path: `${path}/result`,
  operationId: 'answerToolCall',
  security: [{ toolCall: [] }],
  summary: 'Takes the result of the call once; repeating the same result changes nothing.',
  request: { params, body: jsonBody(toolResult) },
  responses: {
    200: json('Stored. End the activity.', accepted),
    ...refusals,
    409: json('The call already has another answer.', problem),
    413: json('The body is too large.', problem),
    415: json('The body is of another type.', problem),
  },
})

interface ToolCallRoutes extends Pick<ServerContext, 'client' | 'log' | 'requestBytes'> {
  readonly workers: readonly ToolWorker[]
  /** The limit of each call. */
  readonly rateLimit: RateLimit | false
}

type WorkerOf = ReturnType<typeof createWorkerFinder>

/**
 * Adds the routes of workers in other languages (T5): a worker claims a call with its own token, and gets a token for the
 * routes of that claim alone.
 * @throws ConfigError for workers that cannot be
 */
export function addToolCallRoutes(app: ThreadApp, server: ToolCallRoutes): void {
  const { client, workers, rateLimit } = server
  const { defaultHook } = app
  const routes = new OpenAPIHono<ServerEnv>(defaultHook === undefined ? {} : { defaultHook })
  routes.onError((error, context) => callProblem(context, error))
  describeTokens(routes)
  const workerOf = createWorkerFinder(workers)
  const isWorker = (token: string): boolean => workerOf(token) !== undefined
  const unknown = rateLimit === false ? null : limitUnknownTokens(rateLimit, isWorker)
  if (unknown !== null) routes.use('/tool-calls/*', unknown.limit)
  requireTokens(routes, workerOf)
  limitCalls(routes, server)
  addClaim(routes, client, { workerOf, onToken: (token) => unknown?.exempt(token) })
  addFiles(routes, server)
  addResult(routes, client)
  app.route('/', routes)
}

/** Runs before a body is checked, so that a caller without a token learns nothing about the expected form. */
function requireTokens(routes: ThreadApp, workerOf: WorkerOf): void {
  routes.use('/tool-calls/*', async (context, next) => {
    bearerOf(context)
    await next()
  })
  routes.use('/tool-calls/:threadId/:callId/claim', async (context, next) => {
    findWorker(context, workerOf)
    await next()
  })
}

function limitCalls(routes: ThreadApp, server: Pick<ToolCallRoutes, 'rateLimit' | 'requestBytes'>): void {
  const { rateLimit } = server
  if (rateLimit !== false) routes.use('/tool-calls/:threadId/:callId/*', limitRates(rateLimit, callKey))
  // Bodies of files are counted while they stream.
  for (const route of ['claim', 'result'])
    routes.use(`/tool-calls/:threadId/:callId/${route}`, limitBodies(server))
}

/** Counts each call by itself, so that endless repeats of one block no other. A hash, because unknown tokens may be long. */
function callKey(context: ThreadContext): string {
  const { threadId, callId, token } = readHeldCall(context)
  return createHash('sha256')
    .update(JSON.stringify([token, threadId, callId]))
    .digest('base64')
}

function findWorker(context: ThreadContext, workerOf: WorkerOf): ToolWorker {
  const worker = workerOf(bearerOf(context))
  if (worker === undefined) throw unauthorizedError(A_TOKEN)
  return worker
}

interface Claiming {
  readonly workerOf: WorkerOf
  readonly onToken: (token: string) => void
}

function addClaim(routes: ThreadApp, { remoteCalls }: ThreadClient, { workerOf, onToken }: Claiming): void {
  routes.openapi(claimRoute, async (context) => {
    const { taskQueues } = findWorker(context, workerOf)
    const { threadId, callId } = context.req.valid('param')
    const { claimId } = context.req.valid('json')
    const call = await remoteCalls.claim({ threadId, callId, claimId, taskQueues })
    onToken(call.token)
    return context.json({ ...call, variables: { ...call.variables } }, 200)
  })
}

function addFiles(routes: ThreadApp, server: Pick<ServerContext, 'client' | 'log' | 'requestBytes'>): void {
  const { remoteCalls } = server.client
  routes.openapi(readFileRoute, async (context) => {
    const { path } = context.req.valid('query')
    const file = await remoteCalls.readFile(readHeldCall(context), path)
    if (file === null) throw new ProblemError(404, 'not_found', `There is no file ${path}.`)
    const headers = bytesHeaders({ ...file, name: posix.basename(path) })
    const body = answerBody(file.bytes, (failure) => logBrokenAnswer(server, context, failure))
    return new Response(body, { headers })
  })
  routes.openapi(writeFileRoute, async (context) => {
    const given = {
      path: context.req.valid('query').path,
      mimeType: context.req.header('content-type') ?? 'application/octet-stream',
      data: context.req.raw.body ?? new Uint8Array(),
    }
    const { path, mimeType, size } = await remoteCalls.writeFile(readHeldCall(context), given)
    return context.json({ path, mimeType, size }, 200)
  })
}

function addResult(routes: ThreadApp, { remoteCalls }: ThreadClient): void {
  routes.openapi(resultRoute, async (context) => {
    await remoteCalls.answer(readHeldCall(context), context.req.valid('json'))
    return context.json({ status: 'accepted' as const }, 200)
  })
}

function readHeldCall(context: ThreadContext): HeldRemoteCall {
  const { threadId = '', callId = '' } = context.req.param()
  return { threadId, callId, token: bearerOf(context) }
}

function describeTokens(app: ThreadApp): void {
  const bearer = { type: 'http', scheme: 'bearer' } as const
  const schemes = {
    toolWorker: 'The token of a worker in another language.',
    toolCall: 'The token of one claim of one call.',
  }
  for (const [name, description] of Object.entries(schemes))
    app.openAPIRegistry.registerComponent('securitySchemes', name, { ...bearer, description })
}

/** A worker in another language: its token, and the task queues whose calls it may claim. */
export interface ToolWorker extends TokenOwner {
  readonly taskQueues: readonly string[]
}

/** Finds a worker by its token. @throws ConfigError for tokens that cannot be, and workers without a task queue */
function createWorkerFinder(workers: readonly ToolWorker[]): (token: string) => ToolWorker | undefined {
  const idle = workers.flatMap(({ taskQueues }, index) =>
    taskQueues.length > 0
      ? []
      : [`Expected "toolWorkers[${index}].taskQueues" to name a task queue, got none.`],
  )
  const problems = [...tokenProblems('toolWorkers', workers), ...idle]
  if (problems.length > 0) throw new ConfigError(problems)
  return createOwnerFinder(workers)
}

interface UnknownTokens {
  /** Runs before the token is checked. */
  readonly limit: MiddlewareHandler<ServerEnv>
  /** Exempts a token that this process has issued or verified. */
  readonly exempt: (token: string) => void
}

/**
 * Limits the invalid tokens of an address to the rate of requests, because each costs a read of the store. Tokens of workers
 * need no read and are not counted; nor are tokens of calls that were valid here before, so that guesses from the same machine
 * or proxy do not lock out a worker with calls in flight.
 */
function limitUnknownTokens(rateLimit: RateLimit, isWorker: (token: string) => boolean): UnknownTokens {
  const { take, giveBack } = countRates(rateLimit)
  const known = new Set<string>()

  function exempt(token: string): void {
    known.add(keyOf(token))
    const [oldest] = known
    if (known.size > KNOWN_TOKENS && oldest !== undefined) known.delete(oldest)
  }

  return {
    exempt,
    async limit(context, next) {
      const token = bearerToken(context.req.header('authorization'))
      if (token !== undefined && (isWorker(token) || known.has(keyOf(token)))) return next()
      const address = addressOf(context)
      await take(address)
      await next()
      if (context.res.status === 401) return undefined
      await giveBack(address)
      // A request may be refused before its token is checked.
      if (token !== undefined && context.res.ok) exempt(token)
      return undefined
    },
  }
}

function keyOf(token: string): string {
  return tokenDigest(token).toString('base64')
}

/** All requests without an address share one, as under another server than Node's. */
function addressOf({ env }: ThreadContext): string {
  // Node's adapter sets it for each request.
  const { incoming } = (env ?? {}) as Partial<HttpBindings>
  return incoming?.socket.remoteAddress ?? ''
}
