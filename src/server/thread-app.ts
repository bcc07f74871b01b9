import { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import type { ThreadClient } from '../client/thread-client.js'
import { checkRateLimits } from '../policy/rate-limits.js'
import type { RateLimits } from '../policy/rate-limits.js'
import { ThreadNotFoundError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { inTrace } from '../telemetry/spans.js'
import { addAgUiRoutes } from './ag-ui/ag-ui-routes.js'
import { limitAccounts } from './limits/account-limits.js'
import { answerEndpoints } from './endpoints/thread-endpoints.js'
import type { ThreadEndpoints } from './endpoints/thread-endpoints.js'
import { errorResponse, ProblemError, problemResponse } from './error-response.js'
import { limitBodies } from './limits/limit-bodies.js'
import { limitRates } from './limits/rate-limit.js'
import type { RateLimit } from './limits/rate-limit.js'
import { addMcpLogin, addMcpRoutes } from './mcp/mcp-routes.js'
import type { McpOptions } from './mcp/mcp-routes.js'
import { addPageRoutes } from './page.js'
import type { PageOptions } from './page.js'
import { logFailures, logRequests } from './request-log.js'
import { addCallsRoutes } from './routes/calls-routes.js'
import { addControlRoutes, addRemovalRoutes } from './routes/control-routes.js'
import { addErrorsRoutes } from './routes/errors-routes.js'
import { addEventsRoutes } from './routes/events-routes.js'
import { addFilesRoutes } from './routes/files-routes.js'
import { addForkRoutes } from './routes/fork-routes.js'
import { addHealthRoutes } from './routes/health-routes.js'
import { addMessagesRoutes } from './routes/messages-routes.js'
import { addBudgetsRoutes } from './routes/budgets-routes.js'
import { addPermissionsRoutes } from './routes/permissions-routes.js'
import { addReadRoutes } from './routes/read-routes.js'
import { addRequestsRoutes } from './routes/requests-routes.js'
import { addSessionsRoutes } from './routes/sessions-routes.js'
import { addSnapshotRoutes, addVariablesRoutes } from './routes/snapshot-routes.js'
import { addAgentsRoutes, addThreadsRoutes } from './routes/threads-routes.js'
import { addUIMessagesRoutes } from './routes/ui-messages-routes.js'
import { addWebhooksRoutes } from './routes/webhooks-routes.js'
import { addToolCallRoutes } from './routes/tool-call-routes.js'
import type { ToolWorker } from './routes/tool-call-routes.js'
import type { RequestEntry, ServerContext, ServerEnv, ThreadApp } from './server-context.js'
import { addTokenRoutes, allowOrigins, guardThreadTokens, mayReach } from './tokens/thread-tokens.js'
import { authenticateCallers } from './tokens/tokens.js'
import type { Authentication } from './tokens/tokens.js'

/** The interval of a stream's heartbeats: proxies close a connection that is quiet for half a minute. */
const EVENT_HEARTBEAT = 15_000

/** A stream ends after this and the client resumes behind its last event, so that a revoked token stops working. */
const LONGEST_EVENT_STREAM = 3_600_000

export interface ThreadAppOptions extends Authentication {
  readonly client: ThreadClient
  /**
   * Requests of each token in this process; for tool workers of each call, for unknown tokens of each address. False: no limit.
   * @default 1,000 requests in 10 seconds
   */
  readonly rateLimit?: RateLimit | false
  /**
   * What each account may use in a minute, and at once, over all servers of the store. Of a server's count requests, messages and
   * sessions; `createWorker` takes the others. Operators are not limited. `DEFAULT_RATE_LIMITS` switches all of them on.
   * @default none
   */
  readonly rateLimits?: RateLimits
  /**
   * Bytes of the longest request, without the files of `PUT …/files/content`: a longer one answers 413, and nothing of it is stored.
   * @default 1 MB
   */
  readonly requestBytes?: number
  /**
   * The origins of web pages, such as `https://shop.example`, that may call from a browser (CORS).
   * @default none but the server's own
   */
  readonly origins?: readonly string[]
  /** Routes of your own for each thread, below `/threads/{threadId}/api/`. */
  readonly endpoints?: ThreadEndpoints
  /** Workers in other languages, for tools of `defineRemoteTool`. @default none, and no routes for them */
  readonly toolWorkers?: readonly ToolWorker[]
  /** The page for people at `/`, with files below `/page/`; false: there is none. @default the page, without a Temporal UI */
  readonly page?: PageOptions | false
  /**
   * The agents as tools for MCP clients such as Claude, ChatGPT and editors, at `/mcp`; true: with its defaults. It needs the package
   * `@modelcontextprotocol/server`. @default none
   */
  readonly mcp?: McpOptions | boolean
  /** Gets one entry per request, without content. @default writes failures (500 and above) to stderr */
  readonly log?: (entry: RequestEntry) => void
  /** Its abort ends streams of events; requests in flight are still answered. */
  readonly closing?: AbortSignal
  /** Milliseconds between two signs of life on a quiet stream of events. @default 15,000 */
  readonly heartbeat?: number
  /** Milliseconds until a stream of events ends and its reader has to connect again. @default an hour */
  readonly longestStream?: number
}

/**
 * The HTTP control plane as a Hono application: mount it where you like, or let `serveThreads` listen. A caller may see the
 * threads of its account, bodies and rates are limited, errors are `{ error: { code, message, requestId } }`.
 *
 * @throws ConfigError for tokens that no header can carry, or that are short
 */
export function createThreadApp(options: ThreadAppOptions): OpenAPIHono<ServerEnv> {
  const { client, rateLimit = DEFAULT_RATE_LIMIT, log = logFailures, endpoints, toolWorkers = [] } = options
  checkRateLimits(options.rateLimits)
  const { limitRequests, admitMessage } = limitAccounts(client, options.rateLimits ?? {})
  const server: ServerContext = {
    client,
    log,
    admitMessage,
    requestBytes: options.requestBytes ?? LIMITS.requestBytes,
    heartbeat: options.heartbeat ?? EVENT_HEARTBEAT,
    longestStream: options.longestStream ?? LONGEST_EVENT_STREAM,
    closing: options.closing ?? new AbortController().signal,
  }
  const app: ThreadApp = new OpenAPIHono<ServerEnv>({
    defaultHook: (result) => {
      if (!result.success)
        throw new ProblemError(400, 'bad_request', describeIssues(result.error.issues, result.target))
    },
  })
  app.onError((error, context) => errorResponse(context, error))
  app.notFound((context) => problemResponse(context, 404, 'not_found', 'There is nothing at this path.'))
  app.use(setHeaders(), logRequests(server))
  app.use(refuseNulls(), continueTrace())
  // Routes that are added before the guards need no token.
  describeApp(app)
  addHealthRoutes(app, server)
  if (options.page !== false) addPageRoutes(app, options.page ?? {})
  const mcp = options.mcp === true ? {} : options.mcp || null
  if (mcp?.login !== undefined) addMcpLogin(app, mcp.login)
  // These routes check tokens of workers and of calls themselves.
  if (toolWorkers.length > 0) addToolCallRoutes(app, { ...server, workers: toolWorkers, rateLimit })
  if (options.origins !== undefined) app.use(allowOrigins(options.origins))
  app.use(authenticateCallers(options))
  if (rateLimit !== false) app.use(limitRates(rateLimit))
  app.use(limitRequests)
  app.use(guardThreadTokens())
  app.use('/threads/:threadId/*', guardThreads(server, 'threadId'))
  app.use('/sessions/:sessionId/*', guardThreads(server, 'sessionId'))
  app.use(limitBodies(server))
  if (options.threadTokens !== undefined) addTokenRoutes(app, server, options.threadTokens)
  addThreadsApi(app, server)
  if (mcp !== null)
    addMcpRoutes(app, server, { ...mcp, origins: options.origins ?? [], version: HEAD.info.version })
  if (endpoints !== undefined) app.all('/threads/:threadId/api/*', answerEndpoints(server, endpoints))
  return app
}

/** Adds what each server answers to callers that the guards have let through. */
function addThreadsApi(app: ThreadApp, server: ServerContext): void {
  addAgentsRoutes(app, server)
  addThreadsRoutes(app, server)
  addForkRoutes(app, server)
  addSessionsRoutes(app, server)
  addMessagesRoutes(app, server)
  addCallsRoutes(app, server)
  addControlRoutes(app, server)
  addRemovalRoutes(app, server)
  addErrorsRoutes(app, server)
  addEventsRoutes(app, server)
  addSnapshotRoutes(app, server)
  addReadRoutes(app, server)
  addFilesRoutes(app, server)
  addRequestsRoutes(app, server)
  addBudgetsRoutes(app, server)
  addPermissionsRoutes(app, server)
  addVariablesRoutes(app, server)
  addUIMessagesRoutes(app, server)
  addWebhooksRoutes(app, server)
  addAgUiRoutes(app, server)
}

/** No answer but the page is one: a browser must run, frame and cache nothing of it, unless a route sets other headers. */
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
 * Admits only callers that may see the thread in the path. A thread of another account answers like one that does not exist,
 * before anything else of the request is read; subagents have the account of their root.
 */
function guardThreads(
  { client }: Pick<ServerContext, 'client'>,
  name: 'threadId' | 'sessionId',
): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const threadId = context.req.param(name) ?? ''
    if (!(await mayReach(client, context.get('caller'), threadId))) throw new ThreadNotFoundError(threadId)
    await next()
  }
}

/** Continues the trace that the caller names in `traceparent`. */
function continueTrace(): MiddlewareHandler<ServerEnv> {
  return (context, next) => inTrace(context.req.header('traceparent'), next)
}

/** No id, path or filter contains NUL, and PostgreSQL refuses it in texts. */
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

/** The parts of a request that the library names otherwise than HTTP. */
const PARTS: Readonly<Record<string, string>> = { json: 'body', param: 'path' }

/** Names place and problem, never the value, which may be a secret. `target` is the part of the request. */
function describeIssues(issues: readonly Issue[], target: string): string {
  const part = PARTS[target] ?? target
  return issues.map(({ path, message }) => `${path.map(String).join('.') || part}: ${message}`).join('; ')
}

const DESCRIPTION = `Durable agent threads. A token may see the threads of its account, an operator's token all threads; a
thread of another account answers like one that does not exist. Times are microseconds since 1970. Later versions may add
fields to objects and values to texts: ignore those that you do not know. Thread endpoints of your own, below
/threads/{threadId}/api/, are not described here. The routes below /tool-calls exist when the server has tool workers.`

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

/** Serves the OpenAPI document of all routes of the app, also of those that are added later. */
function describeApp(app: ThreadApp): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  let text: string | undefined
  // Built once: that keeps a core busy for tens of milliseconds, and the route needs no token.
  app.get('/openapi.json', (context) => {
    text ??= JSON.stringify(app.getOpenAPI31Document(HEAD))
    return context.body(text, 200, { 'Content-Type': 'application/json' })
  })
}

/** People and ordinary services send bursts of a second or two, but not a hundred requests a second for minutes. */
const DEFAULT_RATE_LIMIT: RateLimit = { requests: 1000, seconds: 10 }
