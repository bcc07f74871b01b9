import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { errorResponse } from './error-response.js'
import type { Caller, RequestEntry, ServerContext, ServerEnv, ThreadContext } from './server-context.js'

/** What a caller may name its request: anything else would be somebody else's lines in our log. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Gives each request an id, the caller's if it has a sound one, answers it, and logs one line. */
export function logRequests({ log }: Pick<ServerContext, 'log'>): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const begun = performance.now()
    const given = context.req.header('x-request-id')
    const requestId = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
    context.set('requestId', requestId)
    try {
      await next()
    } catch (thrown) {
      // Hono answers for errors; what is thrown otherwise ends up here.
      context.res = errorResponse(context, thrown)
    }
    context.res.headers.set('X-Request-Id', requestId)
    log(entryOf(context, { begun, status: context.res.status, failure: context.get('failure') }))
  }
}

/** What nobody sees otherwise: a failure, as one line of JSON on stderr. */
export function logFailures(entry: RequestEntry): void {
  if (entry.level === 'error') process.stderr.write(`${JSON.stringify(entry)}\n`)
}

/** One more line for an answer that broke off while it streamed. */
export function logBroken(
  { log }: Pick<ServerContext, 'log'>,
  context: ThreadContext,
  failure: unknown,
): void {
  log(entryOf(context, { begun: performance.now(), status: 500, failure }))
}

interface Answered {
  /** Of performance.now(). */
  readonly begun: number
  readonly status: number
  readonly failure: unknown
}

function entryOf(context: ThreadContext, { begun, status, failure }: Answered): RequestEntry {
  const threadId = context.req.param('threadId')
  const caller: Caller | undefined = context.get('caller')
  return {
    at: new Date().toISOString(),
    level: status < 500 ? 'info' : 'error',
    requestId: context.get('requestId'),
    method: context.req.method,
    // Of what would have answered, also where a guard has.
    route: routeOf(context),
    ...(threadId !== undefined && { threadId }),
    ...(caller !== undefined && caller.account !== null && { account: caller.account }),
    status,
    milliseconds: Math.round(performance.now() - begun),
    ...(failure !== undefined && { error: withoutWords(failure) }),
  }
}

/** The last that matches, but none of the guards of everything: public routes stand before those. */
function routeOf(context: ThreadContext): string {
  return matchedRoutes(context).findLast(({ path }) => path !== '/*')?.path ?? '/*'
}

function withoutWords(failure: unknown): NonNullable<RequestEntry['error']> {
  if (!(failure instanceof Error)) return { name: typeof failure, frames: [] }
  const code = 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined
  const frames = (failure.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: failure.name,
    ...(code !== undefined && { code }),
    frames: frames.map((line) => line.trim()),
  }
}
