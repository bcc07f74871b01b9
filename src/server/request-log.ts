import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { errorResponse } from './error-response.js'
import type { Caller, RequestEntry, ServerContext, ServerEnv, ThreadContext } from './server-context.js'

/** The ids that a caller may give its request: any other text could forge lines of our log. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Gives each request an id (the caller's own, if it is well formed), answers it, and logs one line. */
export function logRequests({ log }: Pick<ServerContext, 'log'>): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const startedAt = performance.now()
    const given = context.req.header('x-request-id')
    const requestId = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
    context.set('requestId', requestId)
    try {
      await next()
    } catch (thrown) {
      // Hono's error handler takes instances of Error only; any other thrown value ends up here.
      context.res = errorResponse(context, thrown)
    }
    context.res.headers.set('X-Request-Id', requestId)
    log(entryOf(context, { startedAt, status: context.res.status, failure: context.get('failure') }))
  }
}

/** The default log: only failures, each as one line of JSON on stderr. */
export function logFailures(entry: RequestEntry): void {
  if (entry.level === 'error') process.stderr.write(`${JSON.stringify(entry)}\n`)
}

/** Logs one more line for an answer that broke off while it streamed. */
export function logBrokenAnswer(
  { log }: Pick<ServerContext, 'log'>,
  context: ThreadContext,
  failure: unknown,
): void {
  log(entryOf(context, { startedAt: performance.now(), status: 500, failure }))
}

interface Outcome {
  /** By performance.now(). */
  readonly startedAt: number
  readonly status: number
  readonly failure: unknown
}

function entryOf(context: ThreadContext, { startedAt, status, failure }: Outcome): RequestEntry {
  const threadId = context.req.param('threadId')
  const caller: Caller | undefined = context.get('caller')
  return {
    at: new Date().toISOString(),
    level: status < 500 ? 'info' : 'error',
    requestId: context.get('requestId'),
    method: context.req.method,
    // The route that matches, also where a guard has answered before it.
    route: routeOf(context),
    ...(threadId !== undefined && { threadId }),
    ...(caller !== undefined && caller.account !== null && { account: caller.account }),
    status,
    milliseconds: Math.round(performance.now() - startedAt),
    ...(failure !== undefined && { error: describeFailure(failure) }),
  }
}

/** The last route that matches, except for guards of all paths: public routes are added before those. */
function routeOf(context: ThreadContext): string {
  return matchedRoutes(context).findLast(({ path }) => path !== '/*')?.path ?? '/*'
}

/** T5: name, code and frames only, because a message may hold content. */
function describeFailure(failure: unknown): NonNullable<RequestEntry['error']> {
  if (!(failure instanceof Error)) return { name: typeof failure, frames: [] }
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined
  const frames = (failure.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: failure.name,
    ...(code !== undefined && { code }),
    frames: frames.map((line) => line.trim()),
  }
}
