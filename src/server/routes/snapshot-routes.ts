import { createRoute, z } from '@hono/zod-openapi'
import type { PendingRequest } from '../../client/answers/pending-request.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { RequestNotFoundError } from '../../protocol/errors.js'
import { ProblemError } from '../error-response.js'
import { keyHeader, threadOfCommand } from '../keyed-id.js'
import { flag, json, jsonBody, readRefusals, security, threadParams, writeRefusals } from '../schemas.js'
import { permissionSummary, runContext, snapshot, threadTools, tree } from '../thread-schemas.js'
import { routingSummary, threadUsage } from '../usage-schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['threads'], security }

const readSnapshot = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/snapshot',
  operationId: 'getSnapshot',
  summary: 'What the thread does now, from its workflow; without that, the stored state, marked `stale`.',
  request: { params: threadParams },
  responses: { 200: json('The state at one moment.', snapshot), ...readRefusals },
})

const readTree = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/tree',
  operationId: 'getTree',
  summary: 'The thread and all threads below it, from the store.',
  request: { params: threadParams },
  responses: { 200: json('The thread.', tree), ...readRefusals },
})

const readTools = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/tools',
  operationId: 'getTools',
  summary: 'The tools of the thread, and what would be decided about a call of each now.',
  request: { params: threadParams },
  responses: { 200: json('The tools at one moment.', threadTools), ...readRefusals },
})

const readPermissions = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/permissions',
  operationId: 'getThreadPermissions',
  summary:
    'What decides about the calls of the thread now: modes, rules, remembered approvals, open requests.',
  request: { params: threadParams },
  responses: { 200: json('The permissions at one moment.', permissionSummary), ...readRefusals },
})

const readRunContext = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/runs/{runId}/context',
  operationId: 'getRunContext',
  summary: 'Who a run is, where it comes from and what binds it.',
  request: { params: threadParams.extend({ runId: z.string().openapi({ example: 'run_1' }) }) },
  responses: { 200: json('The context at one moment.', runContext), ...readRefusals },
})

const readRouting = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/routing',
  operationId: 'getRouting',
  summary: 'Which model the thread calls and why, and the limits, budgets and costs of that.',
  request: { params: threadParams },
  responses: { 200: json('The routing at one moment.', routingSummary), ...readRefusals },
})

const readUsage = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/usage',
  operationId: 'getUsage',
  summary: 'What the thread has used so far: requests, tokens, cost and times.',
  request: {
    params: threadParams,
    query: z.strictObject({
      tree: flag.openapi({ description: 'True: with all threads below it.' }),
    }),
  },
  responses: { 200: json('Sums over its rows.', threadUsage), ...readRefusals },
})

/** Adds the routes that read the state of a thread at one moment. */
export function addSnapshotRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(readSnapshot, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).snapshot(), 200),
  )
  app.openapi(readTree, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).tree(), 200),
  )
  app.openapi(readTools, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).tools(), 200),
  )
  app.openapi(readPermissions, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).permissions(), 200),
  )
  app.openapi(readRunContext, async (context) => {
    const { threadId, runId } = context.req.valid('param')
    const found = await client.get(threadId).runContext(runId)
    if (found === null)
      throw new ProblemError(404, 'not_found', `Expected a run of thread "${threadId}", got an id of none.`)
    return context.json(found, 200)
  })
  app.openapi(readRouting, async (context) =>
    context.json(await client.get(context.req.valid('param').threadId).routing(), 200),
  )
  app.openapi(readUsage, async (context) => {
    const { tree = false } = context.req.valid('query')
    return context.json(await client.get(context.req.valid('param').threadId).usage({ tree }), 200)
  })
}

const sharedByVariables = { tags: ['variables'], security }

const params = threadParams.extend({ requestId: z.string() })

const names = z.array(z.string())

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

const env = z
  .record(z.string(), z.string())
  .openapi({ description: 'Values by name. They cannot be read back.' })

const path = '/threads/{threadId}/variables/{requestId}' as const

const set = createRoute({
  ...sharedByVariables,
  method: 'put',
  path: '/threads/{threadId}/variables',
  operationId: 'setVariables',
  summary: 'Stores values of variables; a blocked run checks them again.',
  request: { params: threadParams, headers: keyHeader, body: jsonBody(z.strictObject({ env })) },
  responses: { 204: { description: 'Stored.' }, ...writeRefusals },
})

const read = createRoute({
  ...sharedByVariables,
  method: 'get',
  path,
  operationId: 'getVariablesRequest',
  summary: 'The names of the variables that are missing; never a value.',
  request: { params },
  responses: { 200: json('The pending request.', variablesRequest), ...readRefusals },
})

const supply = createRoute({
  ...sharedByVariables,
  method: 'post',
  path,
  operationId: 'supplyVariables',
  summary: 'Stores the values, and starts the subagent that waits for them.',
  request: { params, body: jsonBody(z.strictObject({ env })) },
  responses: { 200: json('Stored. Repeating the same values is no error.', supplied), ...writeRefusals },
})

/** Adds the routes for variables that a subagent or a run lacks: names can be read, values can be set. */
export function addVariablesRoutes(app: ThreadApp, server: ServerContext): void {
  const { client } = server
  app.openapi(set, async (context) => {
    await threadOfCommand(server, context).setEnv(context.req.valid('json').env)
    return context.body(null, 204)
  })
  app.openapi(read, async (context) => {
    const { threadId, requestId } = context.req.valid('param')
    const { agent, required, missing } = await readVariablesRequest(client, threadId, requestId)
    const body = { request_id: requestId, parent_thread_id: threadId, agent_name: agent }
    return context.json({ ...body, required: [...required], missing: [...missing] }, 200)
  })
  app.openapi(supply, async (context) => {
    const { threadId, requestId } = context.req.valid('param')
    const { child } = await client.get(threadId).respond(requestId, context.req.valid('json'))
    return context.json({ request_id: requestId, child_thread_id: child, status: 'accepted' as const }, 200)
  })
}

async function readVariablesRequest(
  client: ThreadClient,
  threadId: string,
  requestId: string,
): Promise<Extract<PendingRequest, { readonly kind: 'variables' }>> {
  const request = await client.get(threadId).request(requestId)
  if (request.kind === 'variables') return request
  throw new RequestNotFoundError(threadId, { id: requestId, reason: `one of kind "${request.kind}"` })
}
