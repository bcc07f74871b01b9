import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'

import { LIMITS } from '../protocol/limits.js'
import { ProblemError } from './problem-error.js'
import type { ServerEnv } from './server-context.js'

/** Routes of a thread that take a few words at most. */
const SMALL: ReadonlySet<string> = new Set(['stop', 'continue', 'terminate'])

/** Streamed, and counted as they are. */
const STREAMED = 'files/content'

/** Refuses with 413 what is longer than its route takes, without reading further. */
export function limitBodies(): MiddlewareHandler<ServerEnv> {
  const small = limit(LIMITS.smallRequestBytes)
  const usual = limit(LIMITS.requestBytes)
  return (context, next) => {
    const [, behind = ''] = /\/threads\/[^/]+\/(.*)$/.exec(context.req.path) ?? []
    if (behind === STREAMED) return next()
    return SMALL.has(behind) ? small(context, next) : usual(context, next)
  }
}

function limit(maxSize: number): MiddlewareHandler<ServerEnv> {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new ProblemError(
        413,
        'too_large',
        `Expected a body of at most ${maxSize} bytes, got a larger one.`,
      )
    },
  })
}
