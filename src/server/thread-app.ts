import { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import type { ThreadClient } from '../client/thread-client.js'
import { ThreadNotFoundError } from '../protocol/errors.js'
import { inTrace } from '../telemetry/spans.js'
import { answerEndpoints } from './endpoints/thread-endpoints.js'
import type { ThreadEndpoints } from './endpoints/thread-endpoints.js'
import { errorResponse, ProblemError, problemResponse } from './error-response.js'
import { limitBodies } from './limit-bodies.js'
import { limitRates } from './rate-limit.js'
import type { RateLimit } from './rate-limit.js'
import { logFailures, logRequests } from './request-log.js'
import { addControlRoutes, addRemovalRoutes } from './routes/control-routes.js'
import { addErrorsRoutes } from './routes/errors-routes.js'
import { addEventsRoutes } from './routes/events-routes.js'
import { addFilesRoutes } from './routes/files-routes.js'
import { addHealthRoutes } from './routes/health-routes.js'
import { addMessagesRoutes } from './routes/messages-routes.js'
import { addRequestsRoutes } from './routes/requests-routes.js'
import { addSnapshotRoutes, addVariablesRoutes } from './routes/snapshot-routes.js'
import { addAgentsRoutes, addThreadsRoutes } from './routes/threads-routes.js'
import { addToolCallRoutes } from './routes/tool-call-routes.js'
import type { ToolWorker } from './routes/tool-call-routes.js'
import type { RequestEntry, ServerContext, ServerEnv, ThreadApp } from './server-context.js'
import { authenticateCallers } from './tokens.js'
import type { Authentication } from './tokens.js'

/** The interval of a stream's heartbeats: proxies close a connection that is quiet for half a minute. */
const EVENT_HEARTBEAT = 15_000

/** A stream ends after this and the client resumes behind its last event, so that a revoked token stops working. */
const LONGEST_EVENT_STREAM = 3_600_000

export interface ThreadAppOptions extends Authentication {
  readonly client: ThreadClient
  /**
   * Of each token, in this process; for tool workers of each call, and of unknown tokens by address. False: none.
   * @default 1,000 requests in 10 seconds
   */
  readonly rateLimit?: RateLimit | false
  /** Routes of your own for each thread, below `/threads/{threadId}/api/`. */
  readonly endpoints?: ThreadEndpoints
  /** Workers in other languages, for tools of `defineRemoteTool`. @default none, and no routes for them */
  readonly toolWorkers?: readonly ToolWorker[]
  /** One line per request, and nothing of its content. @default failures (500 and above), on stderr */
  readonly log?: (entry: RequestEntry) => void
  /** Ends streams of events; requests in flight are answered. */
  readonly closing?: AbortSignal
  /** Milliseconds between two signs of life on a quiet stream of events. @default 15,000 */
  readonly heartbeat?: number
  /** Milliseconds until a stream of events ends, and its reader comes back. @default an hour */
  readonly longestStream?: number
}

/**
 * The HTTP control plane as a Hono application: mount it where you like, or let `serveThreads` listen. A caller has the
 * threads of its account, bodies and rates are limited, errors are `{ error: { code, message, requestId } }`.
 *
 * @throws ConfigError for tokens that no header can carry, or that are short
 */
export function createThreadApp(options: ThreadAppOptions): OpenAPIHono<ServerEnv> {
  const { client, rateLimit = DEFAULT_RATE_LIMIT, log = logFailures, endpoints, toolWorkers = [] } = options
  const server: ServerContext = {
    client,
    log,
    heartbeat: options.heartbeat ?? EVENT_HEARTBEAT,
    longestStream: options.longestStream ?? LONGEST_EVENT_STREAM,
    closing: options.closing ?? new AbortController().signal,
  }
  const app: ThreadApp = new OpenAPIHono<ServerEnv>({
    defaultHook: (result) => {
      if (!result.success)
        throw new ProblemError(400, 'bad_request', wordsOf(result.error.issues, result.target))
    },
  })
  app.onError((error, context) => errorResponse(context, error))
  app.notFound((context) => problemResponse(context, 404, 'not_found', 'There is nothing at this path.'))
  app.use(setHeaders(), logRequests(server))
  app.use(refuseNulls(), continueTrace())
  // What answers before the guards asks for no token.
  describeApp(app)
  addHealthRoutes(app, server)
  // Their tokens are of workers and of calls.
  if (toolWorkers.length > 0) addToolCallRoutes(app, { ...server, workers: toolWorkers, rateLimit })
  app.use(authenticateCallers(options))
  if (rateLimit !== false) app.use(limitRates(rateLimit))
  app.use('/threads/:threadId/*', guardThreads(server))
  app.use(limitBodies())
  addAgentsRoutes(app, server)
  addThreadsRoutes(app, server)
  addMessagesRoutes(app, server)
  addControlRoutes(app, server)
  addRemovalRoutes(app, server)
  addErrorsRoutes(app, server)
  addEventsRoutes(app, server)
  addSnapshotRoutes(app, server)
  addFilesRoutes(app, server)
  addRequestsRoutes(app, server)
  addVariablesRoutes(app, server)
  if (endpoints !== undefined) app.all('/threads/:threadId/api/*', answerEndpoints(server, endpoints))
  return app
}

/** Nothing here is a page: a browser runs nothing of it, frames nothing and keeps nothing, unless a route says otherwise. */
function setHeaders(): MiddlewareHandler<ServerEnv> {
  const secure = secureHeaders({
    contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    xFrameOptions: 'DENY',
    overwrite: false,
  })
  return async (context, next) => {
    await secure(context, next)
    if (!context.res.headers.has('cache-control')) context.res.headers.set('Cache-Control', 'no-store')
  }
}

/**
 * Lets through only who may see the thread in the path. One of another account answers as one that does not exist, before
 * anything else of the request is looked at; subagents have the account of their root.
 */
function guardThreads({ client }: Pick<ServerContext, 'client'>): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const threadId = context.req.param('threadId') ?? ''
    const { account } = context.get('caller')
    const thread = await client.find(threadId)
    if (thread === null || (account !== null && thread.account !== account))
      throw new ThreadNotFoundError(threadId)
    await next()
  }
}

/** What a request does belongs to the trace that its caller names in `traceparent`. */
function continueTrace(): MiddlewareHandler<ServerEnv> {
  return (context, next) => inTrace(context.req.header('traceparent'), next)
}

/** No id, path or filter holds it, and PostgreSQL takes it in no text. */
function refuseNulls(): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    if (/%00/.test(context.req.url))
      throw new ProblemError(400, 'bad_request', 'Expected a URL without the character NUL, got one.')
    await next()
  }
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Parts of a request as the library names them, where those are no names of HTTP. */
const PARTS: Readonly<Record<string, string>> = { json: 'body', param: 'path' }

/** Where and what, never the value: it may be a secret. `target`: of which part of the request. */
function wordsOf(issues: readonly Issue[], target: string): string {
  const part = PARTS[target] ?? target
  return issues.map(({ path, message }) => `${path.map(String).join('.') || part}: ${message}`).join('; ')
}

const DESCRIPTION = `Durable agent threads. A token has the threads of its account, and an operator's those of all: the
thread of another account answers as one that does not exist. Times are microseconds since 1970. Objects may get fields and
texts may get values in later versions: pass over what you do not know. Thread endpoints of your own, below
/threads/{threadId}/api/, are not described here. The routes below /tool-calls are there when the server has tool workers.`

const HEAD = {
  openapi: '3.1.0',
  info: {
    title: 'Everthread',
    version: '0.1.0',
    description: DESCRIPTION.replaceAll('\n', ' '),
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  servers: [{ url: '/' }],
}

/** Serves the OpenAPI document of the routes that were added before, and later. */
function describeApp(app: ThreadApp): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  let text: string | undefined
  // Made once, for making it takes a core for tens of milliseconds, and nobody has to have a token for it.
  app.get('/openapi.json', (context) => {
    text ??= JSON.stringify(app.getOpenAPI31Document(HEAD))
    return context.body(text, 200, { 'Content-Type': 'application/json' })
  })
}

/** A hundred a second for minutes on end is no person and no ordinary service; bursts of a second or two are. */
const DEFAULT_RATE_LIMIT: RateLimit = { requests: 1000, seconds: 10 }
