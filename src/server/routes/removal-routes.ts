import { createRoute, z } from '@hono/zod-openapi'
import { flag, json, security, threadParams, writeRefusals } from '../schemas/parts.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const kept = z.object({ threadId: z.string(), problem: z.string() })

const deleted = z
  .object({
    threads: z.int().openapi({ description: 'How many are gone: its subagents too.' }),
    kept: z
      .array(kept)
      .readonly()
      .openapi({ description: 'Whose histories Temporal keeps until its retention ends.' }),
  })
  .openapi('Deleted')

const remove = createRoute({
  method: 'delete',
  path: '/threads/{threadId}',
  operationId: 'deleteThread',
  tags: ['threads'],
  security,
  summary: 'Deletes a closed thread and all below it for good: rows, files, histories.',
  request: {
    params: threadParams,
    query: z.strictObject({
      terminate: flag.openapi({ description: 'True: ends first what is open of it; otherwise that is 409.' }),
    }),
  },
  responses: { 200: json('It is gone.', deleted), ...writeRefusals },
})

const removeQueued = createRoute({
  method: 'delete',
  path: '/threads/{threadId}/queue/{itemId}',
  operationId: 'removeQueued',
  tags: ['messages'],
  security,
  summary: 'Takes back a message, tool or effect that waits its turn.',
  request: { params: threadParams.extend({ itemId: z.string() }) },
  responses: { 204: { description: 'It will not come to its turn.' }, ...writeRefusals },
})

/** What is taken back, and what is deleted. */
export function addRemovalRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(remove, async (context) => {
    const { terminate = false } = context.req.valid('query')
    return context.json(await client.deleteThread(context.req.valid('param').threadId, { terminate }), 200)
  })
  app.openapi(removeQueued, async (context) => {
    const { threadId, itemId } = context.req.valid('param')
    await client.get(threadId).removeQueued(itemId)
    return context.body(null, 204)
  })
}
