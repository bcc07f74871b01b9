import { createRoute, z } from '@hono/zod-openapi'
import { createReadiness } from '../readiness.js'
import { json, problem } from '../schemas/parts.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const MALFORMED = { 400: json('The URL cannot be read.', problem) }

const health = createRoute({
  method: 'get',
  path: '/health',
  operationId: 'getHealth',
  tags: ['server'],
  security: [],
  summary: 'The process answers: nothing else is looked at.',
  responses: {
    200: json('It does.', z.object({ status: z.literal('ok') }).openapi('Health')),
    ...MALFORMED,
  },
})

const state = z.object({ ready: z.boolean(), store: z.boolean(), temporal: z.boolean() }).openapi('Readiness')

const ready = createRoute({
  method: 'get',
  path: '/ready',
  operationId: 'getReadiness',
  tags: ['server'],
  security: [],
  summary: 'Whether store and Temporal answer. Looked at once a second at most.',
  responses: {
    200: json('Both do.', state),
    503: json('One does not: send nobody here.', state),
    ...MALFORMED,
  },
})

/** What load balancers ask, without a token. */
export function addHealthRoutes(app: ThreadApp, { client }: ServerContext): void {
  const readiness = createReadiness(client)
  app.openapi(health, (context) => context.json({ status: 'ok' as const }, 200))
  app.openapi(ready, async (context) => {
    const found = await readiness()
    return found.ready ? context.json(found, 200) : context.json(found, 503)
  })
}
