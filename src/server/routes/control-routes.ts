import { createRoute, z } from '@hono/zod-openapi'
import { LIMITS } from '../../protocol/limits.js'
import { optionalBody, security, threadParams, writeRefusals } from '../schemas/parts.js'
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
    body: optionalBody(
      z.strictObject({
        runId: z.string().optional().openapi({ description: 'Only that run; another one goes on.' }),
        children: z
          .boolean()
          .optional()
          .openapi({ description: 'False: subagents that it waits for go on.' }),
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
  summary: 'Lets a stopped thread go on.',
  request: { params: threadParams },
  responses: { 202: ACCEPTED, ...writeRefusals },
})

const terminate = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/terminate',
  operationId: 'terminateThread',
  summary:
    'Refuses everything from now on, ends what is in flight, closes; subagents too. It stays readable.',
  request: {
    params: threadParams,
    body: optionalBody(z.strictObject({ reason: z.string().max(LIMITS.answerTextBytes).optional() })),
  },
  responses: { 202: ACCEPTED, ...writeRefusals },
})

/** What steers a thread. Repeating any of it does no harm. */
export function addControlRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(stop, async (context) => {
    const { runId, children } = context.req.valid('json')
    await client
      .get(context.req.valid('param').threadId)
      .stop({ ...(runId !== undefined && { runId }), ...(children !== undefined && { children }) })
    return context.body(null, 202)
  })
  app.openapi(goOn, async (context) => {
    await client.get(context.req.valid('param').threadId).continue()
    return context.body(null, 202)
  })
  app.openapi(terminate, async (context) => {
    const { reason } = context.req.valid('json')
    await client.get(context.req.valid('param').threadId).terminate(reason === undefined ? {} : { reason })
    return context.body(null, 202)
  })
}
