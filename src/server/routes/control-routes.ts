import { createRoute, z } from '@hono/zod-openapi'
import { LIMITS } from '../../protocol/limits.js'
import { keyHeader, threadOfCommand } from '../keyed-id.js'
import {
  deletedThreads,
  flag,
  json,
  optionalBody,
  security,
  threadParams,
  writeRefusals,
} from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const ACCEPTED = { description: 'Accepted.' }

const shared = { tags: ['control'], security }

const stop = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/stop',
  operationId: 'stopThread',
  summary: 'Ends the run and parks the thread until a user message or `continue`.',
  request: {
    params: threadParams,
    headers: keyHeader,
    body: optionalBody(
      z.strictObject({
        runId: z.string().optional().openapi({ description: 'Stops only this run; another one goes on.' }),
        children: z
          .boolean()
          .optional()
          .openapi({ description: 'False: subagents that the run waits for go on.' }),
      }),
    ),
  },
  responses: { 202: ACCEPTED, ...writeRefusals },
})

const goOn = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/continue',
  operationId: 'continueThread',
  summary: 'Continues a stopped thread.',
  request: { params: threadParams, headers: keyHeader },
  responses: { 202: ACCEPTED, ...writeRefusals },
})

const terminate = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/terminate',
  operationId: 'terminateThread',
  summary:
    'Closes the thread and its subagents: cancels work in flight and refuses new requests. They stay readable.',
  request: {
    params: threadParams,
    headers: keyHeader,
    body: optionalBody(z.strictObject({ reason: z.string().max(LIMITS.answerTextBytes).optional() })),
  },
  responses: { 202: ACCEPTED, ...writeRefusals },
})

/** Adds the routes that steer a thread; each may be repeated without harm. */
export function addControlRoutes(app: ThreadApp, server: ServerContext): void {
  app.openapi(stop, async (context) => {
    const { runId, children } = context.req.valid('json')
    await threadOfCommand(server, context).stop({
      ...(runId !== undefined && { runId }),
      ...(children !== undefined && { children }),
    })
    return context.body(null, 202)
  })
  app.openapi(goOn, async (context) => {
    await threadOfCommand(server, context).continue()
    return context.body(null, 202)
  })
  app.openapi(terminate, async (context) => {
    const { reason } = context.req.valid('json')
    await threadOfCommand(server, context).terminate(reason === undefined ? {} : { reason })
    return context.body(null, 202)
  })
}

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
      terminate: flag.openapi({
        description: 'True: terminates open threads first; otherwise those answer 409.',
      }),
    }),
  },
  responses: { 200: json('Deleted.', deletedThreads), ...writeRefusals },
})

const removeQueued = createRoute({
  method: 'delete',
  path: '/threads/{threadId}/queue/{itemId}',
  operationId: 'removeQueued',
  tags: ['messages'],
  security,
  summary: 'Removes a message, tool or effect from the queue.',
  request: { params: threadParams.extend({ itemId: z.string() }), headers: keyHeader },
  responses: { 204: { description: 'Removed: it will not run.' }, ...writeRefusals },
})

/** Adds the routes that delete threads and remove items from their queues. */
export function addRemovalRoutes(app: ThreadApp, server: ServerContext): void {
  const { client } = server
  app.openapi(remove, async (context) => {
    const { terminate = false } = context.req.valid('query')
    return context.json(await client.deleteThread(context.req.valid('param').threadId, { terminate }), 200)
  })
  app.openapi(removeQueued, async (context) => {
    await threadOfCommand(server, context).removeQueued(context.req.valid('param').itemId)
    return context.body(null, 204)
  })
}
