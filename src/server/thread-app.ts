import { OpenAPIHono } from '@hono/zod-openapi'
import { bearerAuth } from 'hono/bearer-auth'
import { bodyLimit } from 'hono/body-limit'

import type { ThreadClient } from '../client/thread-client.js'
import { ConfigError } from '../protocol/config-error.js'
import { LIMITS } from '../protocol/limits.js'
import { errorResponse, problemResponse } from './error-response.js'
import { addToolCallRoutes } from './tool-calls/tool-call-routes.js'
import type { ToolWorker } from './tool-calls/tool-worker.js'
import { addVariablesRoutes } from './variables-routes.js'

export interface ThreadAppOptions {
  readonly client: ThreadClient
  /** What callers send as `Authorization: Bearer …`: at least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
  /** Workers in other languages, for tools of `defineRemoteTool`. @default none, and no routes for them */
  readonly toolWorkers?: readonly ToolWorker[]
}

/**
 * The HTTP server's routes as a Hono application: mount it where you like, or let `serveThreads` listen. All but
 * `/openapi.json` asks for the token; bodies are limited; errors are `{ error: { code, message } }`.
 *
 * @throws ConfigError for a token that no header can carry, or that is short
 */
export function createThreadApp({ client, token, toolWorkers = [] }: ThreadAppOptions): OpenAPIHono {
  if (!/^[\w.~+/-]{16,}=*$/.test(token))
    throw new ConfigError([
      `Expected "token" to be 16 characters or more of letters, digits and -._~+/=, got ${token.length} characters.`,
    ])
  const app = new OpenAPIHono({
    defaultHook: (result, context) =>
      result.success ? undefined : problemResponse(context, 400, 'bad_request', wordsOf(result.error.issues)),
  })
  app.onError((error, context) => errorResponse(context, error))
  app.notFound((context) => problemResponse(context, 404, 'not_found', 'There is nothing at this path.'))
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  app.doc31('/openapi.json', {
    openapi: '3.1.0',
    info: { title: 'Everthread', version: '0.1.0', description: 'Durable agent threads.' },
  })
  app.use('/threads/*', bearerAuth({ token }))
  app.use(
    '/threads/*',
    bodyLimit({
      maxSize: LIMITS.requestBytes,
      onError: (context) =>
        problemResponse(context, 413, 'too_large', `Expected at most ${LIMITS.requestBytes} bytes.`),
    }),
  )
  addVariablesRoutes(app, client)
  if (toolWorkers.length > 0) addToolCallRoutes(app, { client, workers: toolWorkers })
  return app
}

/** Where and what, never the value: it may be a secret. */
function wordsOf(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  return issues.map(({ path, message }) => `${path.map(String).join('.') || 'body'}: ${message}`).join('; ')
}
