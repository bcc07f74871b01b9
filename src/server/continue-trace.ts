import type { MiddlewareHandler } from 'hono'
import { inTrace } from '../telemetry/in-trace.js'
import type { ServerEnv } from './server-context.js'

/** What a request does belongs to the trace that its caller names in `traceparent`. */
export function continueTrace(): MiddlewareHandler<ServerEnv> {
  return (context, next) => inTrace(context.req.header('traceparent'), next)
}
