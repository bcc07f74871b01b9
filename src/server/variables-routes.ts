import { createRoute, z } from '@hono/zod-openapi'
import type { OpenAPIHono } from '@hono/zod-openapi'

import type { PendingRequest } from '../client/pending-request.js'
import type { ThreadClient } from '../client/thread-client.js'
import { RequestNotFoundError } from '../protocol/thread-error.js'

const params = z.object({
  parent_thread_id: z.string().openapi({ description: 'The thread whose run, or whose subagent, waits.' }),
  request_id: z.string(),
})

const names = z.array(z.string())

const problem = z.object({ error: z.object({ code: z.string(), message: z.string() }) }).openapi('Problem')

const variablesRequest = z
  .object({
    request_id: z.string(),
    parent_thread_id: z.string(),
    agent_name: z.string(),
    required: names,
    missing: names,
  })
  .openapi('VariablesRequest')

const supplied = z
  .object({
    request_id: z.string(),
    child_thread_id: z.string().nullable().openapi({ description: 'The subagent that starts; null: none.' }),
    status: z.literal('accepted'),
  })
  .openapi('VariablesSupplied')

const security = [{ token: [] }]

function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } }
}

const refusals = {
  400: json('Values are missing or not valid; the request stays open.', problem),
  401: json('The token is missing or wrong.', problem),
  404: json('No such request waits.', problem),
}

const path = '/threads/{parent_thread_id}/variables/{request_id}'

const read = createRoute({
  method: 'get',
  path,
  security,
  summary: 'The names of the variables that are missing; never a value.',
  request: { params },
  responses: { 200: json('It waits.', variablesRequest), ...refusals },
})

const supply = createRoute({
  method: 'post',
  path,
  security,
  summary: 'Stores the values, and starts the subagent that waits for them.',
  request: {
    params,
    body: {
      required: true,
      content: {
        'application/json': { schema: z.strictObject({ env: z.record(z.string(), z.string()) }) },
      },
    },
  },
  responses: {
    200: json('Stored. The same values again are fine.', supplied),
    ...refusals,
    409: json('It has other values.', problem),
    413: json('The body is too large.', problem),
    503: json('Nobody took the answer in time: it is kept, send it again.', problem),
  },
})

/** What a subagent or a run lacks: names can be read, values can be put. */
export function addVariablesRoutes(app: OpenAPIHono, client: ThreadClient): void {
  app.openapi(read, async (context) => {
    const { parent_thread_id: threadId, request_id: requestId } = context.req.valid('param')
    const { agent, required, missing } = await waiting(client, threadId, requestId)
    const body = { request_id: requestId, parent_thread_id: threadId, agent_name: agent }
    return context.json({ ...body, required: [...required], missing: [...missing] }, 200)
  })
  app.openapi(supply, async (context) => {
    const { parent_thread_id: threadId, request_id: requestId } = context.req.valid('param')
    const { env } = context.req.valid('json')
    const { child } = await client.get(threadId).respond(requestId, { env })
    return context.json({ request_id: requestId, child_thread_id: child, status: 'accepted' as const }, 200)
  })
}

async function waiting(
  client: ThreadClient,
  threadId: string,
  requestId: string,
): Promise<Extract<PendingRequest, { readonly kind: 'variables' }>> {
  const request = await client.get(threadId).request(requestId)
  if (request.kind === 'variables') return request
  throw new RequestNotFoundError(threadId, { id: requestId, reason: `one of kind "${request.kind}"` })
}
