import { createRoute } from '@hono/zod-openapi'
import { json, readRefusals, security, threadParams } from '../schemas/parts.js'
import { snapshot, tree } from '../schemas/snapshot.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['threads'], security }

const readSnapshot = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/snapshot',
  operationId: 'getSnapshot',
  summary: 'What the thread does now, from its workflow; else what is recorded, marked `stale`.',
  request: { params: threadParams },
  responses: { 200: json('At one moment.', snapshot), ...readRefusals },
})

const readTree = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/tree',
  operationId: 'getTree',
  summary: 'The thread and all below it, as the store has them.',
  request: { params: threadParams },
  responses: { 200: json('The thread.', tree), ...readRefusals },
})

/** A thread at one moment. */
export function addSnapshotRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(readSnapshot, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).snapshot(), 200),
  )
  app.openapi(readTree, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).tree(), 200),
  )
}
