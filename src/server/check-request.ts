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

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Parts of a request as the library names them, where those are no names of HTTP. */
const PARTS: Readonly<Record<string, string>> = { json: 'body', param: 'path' }

/** Where and what, never the value: it may be a secret. `target`: of which part of the request. */
export function wordsOf(issues: readonly Issue[], target: string): string {
  const part = PARTS[target] ?? target
  return issues.map(({ path, message }) => `${path.map(String).join('.') || part}: ${message}`).join('; ')
}
