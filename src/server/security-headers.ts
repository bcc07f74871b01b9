import type { MiddlewareHandler } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import type { ServerEnv } from './server-context.js'

/** Nothing here is a page: a browser runs nothing of it, frames nothing and keeps nothing, unless a route says otherwise. */
export function setHeaders(): MiddlewareHandler<ServerEnv> {
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
