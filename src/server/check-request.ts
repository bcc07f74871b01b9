import type { MiddlewareHandler } from 'hono'

import { ProblemError } from './problem-error.js'
import type { ServerEnv } from './server-context.js'

/** No id, path or filter holds it, and PostgreSQL takes it in no text. */
export function refuseNulls(): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    if (/%00/.test(context.req.url))
      throw new ProblemError(400, 'bad_request', 'Expected a URL without the character NUL, got one.')
    await next()
  }
}

/** Where and what, never the value: it may be a secret. */
export function wordsOf(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  return issues.map(({ path, message }) => `${path.map(String).join('.') || 'body'}: ${message}`).join('; ')
}
