import { OpenAPIHono } from '@hono/zod-openapi'
import type { ThreadClient } from '../client/thread-client.js'
import { LIMITS } from '../protocol/limits.js'
import { authenticateCallers } from './authenticate.js'
import type { Authentication } from './authenticate.js'
import { refuseNulls, wordsOf } from './check-request.js'
import { continueTrace } from './continue-trace.js'
import { answerEndpoints } from './endpoints/thread-endpoints.js'
import type { ThreadEndpoints } from './endpoints/thread-endpoints.js'
import { errorResponse, problemResponse } from './error-response.js'
import { limitBodies } from './limit-bodies.js'
import { describeApp } from './open-api.js'
import { guardThreads } from './own-thread.js'
import { ProblemError } from './problem-error.js'
import { DEFAULT_RATE_LIMIT, limitRates } from './rate-limit.js'
import type { RateLimit } from './rate-limit.js'
import { logFailures, logRequests } from './request-log.js'
import { addAgentsRoutes } from './routes/agents-routes.js'
import { addControlRoutes } from './routes/control-routes.js'
import { addErrorsRoutes } from './routes/errors-routes.js'
import { addEventsRoutes } from './routes/events-routes.js'
import { addFilesRoutes } from './routes/files-routes.js'
import { addHealthRoutes } from './routes/health-routes.js'
import { addMessagesRoutes } from './routes/messages-routes.js'
import { addRemovalRoutes } from './routes/removal-routes.js'
import { addRequestsRoutes } from './routes/requests-routes.js'
import { addSnapshotRoutes } from './routes/snapshot-routes.js'
import { addThreadsRoutes } from './routes/threads-routes.js'
import { addVariablesRoutes } from './routes/variables-routes.js'
import { setHeaders } from './security-headers.js'
import type { RequestEntry, ServerContext, ServerEnv, ThreadApp } from './server-context.js'
import { addToolCallRoutes } from './tool-calls/tool-call-routes.js'
import type { ToolWorker } from './tool-calls/tool-worker.js'

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
    heartbeat: options.heartbeat ?? LIMITS.eventHeartbeat,
    longestStream: options.longestStream ?? LIMITS.eventStream,
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
