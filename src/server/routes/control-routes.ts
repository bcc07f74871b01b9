import { createRoute, z } from '@hono/zod-openapi'
import { REASON_LENGTH } from '../../client/messages/steer.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
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

const reason = z.string().max(REASON_LENGTH).optional()

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
        reason: reason.openapi({ description: 'For people: it is in the event of the end of the run.' }),
        queue: z
          .enum(['keep', 'clear'])
          .optional()
          .openapi({ description: 'Clear: queued messages and tools are removed.' }),
      }),
    ),
  },
  responses: {
    200: json(
      'Accepted, or nothing to do.',
      z
        .object({
          status: z.enum(['accepted', 'no_op']),
          runId: z.string().optional().openapi({ description: 'The run that was open.' }),
        })
        .openapi('Stopped'),
    ),
    ...writeRefusals,
  },
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

const compact = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/compact',
  operationId: 'compactThread',
  summary:
    'Makes the context shorter, with a summary of what leaves it: now if the thread is idle, else in its next step.',
  request: {
    params: threadParams,
    headers: keyHeader,
    body: optionalBody(
      z.strictObject({
        focus: z
          .string()
          .min(1)
          .max(LIMITS.compactionFocus)
          .optional()
          .openapi({ description: 'What the summary must keep.' }),
        side: z.enum(['a', 'b']).optional(),
      }),
    ),
  },
  responses: {
    200: json(
      'Requested, or one is requested already.',
      z.object({ status: z.enum(['requested', 'no_op']) }).openapi('CompactionRequested'),
    ),
    ...writeRefusals,
  },
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
    const options = withoutUndefined(context.req.valid('json'))
    return context.json(await threadOfCommand(server, context).stop(options), 200)
  })
  app.openapi(goOn, async (context) => {
    await threadOfCommand(server, context).continue()
    return context.body(null, 202)
  })
  app.openapi(compact, async (context) => {
    const options = withoutUndefined(context.req.valid('json'))
    return context.json(await threadOfCommand(server, context).compact(options), 200)
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

const promote = createRoute({
  method: 'post',
  path: '/threads/{threadId}/queue/{itemId}/promote',
  operationId: 'promoteQueued',
  tags: ['messages'],
  security,
  summary: 'Moves a message or tool before everything that waits in the queue.',
  request: { params: threadParams.extend({ itemId: z.string() }), headers: keyHeader },
  responses: { 204: { description: 'Moved.' }, ...writeRefusals },
})

const cancel = createRoute({
  method: 'post',
  path: '/threads/{threadId}/messages/{messageId}/cancel',
  operationId: 'cancelMessage',
  tags: ['messages'],
  security,
  summary: 'Ends what was sent: a queued message is removed, the run of a delivered one is stopped.',
  request: {
    params: threadParams.extend({ messageId: z.string() }),
    headers: keyHeader,
    body: optionalBody(z.strictObject({ reason })),
  },
  responses: {
    200: json(
      'Cancelled. A message that has ended answers 409.',
      z
        .object({
          status: z.enum(['removed', 'cancelled']),
          runId: z.string().optional().openapi({ description: 'The run that is stopped.' }),
        })
        .openapi('Cancelled'),
    ),
    ...writeRefusals,
  },
})

/** Adds the routes that delete threads, and end, remove or move what was sent to them. */
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
  app.openapi(promote, async (context) => {
    await threadOfCommand(server, context).promote(context.req.valid('param').itemId)
    return context.body(null, 204)
  })
  app.openapi(cancel, async (context) => {
    const { messageId } = context.req.valid('param')
    const options = withoutUndefined(context.req.valid('json'))
    return context.json(await threadOfCommand(server, context).cancel(messageId, options), 200)
  })
}
