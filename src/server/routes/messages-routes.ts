import { createRoute, z } from '@hono/zod-openapi'
import type { NewMessage } from '../../client/messages/send-message.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { ProblemError } from '../error-response.js'
import { messageRead, messagesPage } from '../message-schemas.js'
import { keyHeader, keyOf, threadOfCommand } from '../keyed-id.js'
import {
  flag,
  givenMessage,
  json,
  jsonBody,
  key,
  readRefusals,
  security,
  threadParams,
  wholeNumber,
  writeRefusals,
} from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['messages'], security, path: '/threads/{threadId}/messages' as const }

const position = wholeNumber(0, Number.MAX_SAFE_INTEGER)

const list = createRoute({
  ...shared,
  method: 'get',
  operationId: 'listMessages',
  summary:
    'The newest messages in their order, queued ones last; others by the position before or after them.',
  request: {
    params: threadParams,
    query: z.strictObject({
      limit: wholeNumber(1, LIMITS.longestPage),
      before: position.openapi({ description: 'The newest messages below this position.' }),
      after: position.openapi({ description: 'The first messages above this position.' }),
      includeSilent: flag,
      maxDepth: wholeNumber(0, LIMITS.frameDepth),
    }),
  },
  responses: { 200: json('A page.', messagesPage), ...readRefusals },
})

const send = createRoute({
  ...shared,
  method: 'post',
  operationId: 'sendMessage',
  summary: 'Accepts a message, which is kept and delivered once, also while no worker runs.',
  request: {
    params: threadParams,
    headers: keyHeader,
    body: jsonBody(givenMessage.extend({ key: key.optional() }).openapi('NewMessage')),
  },
  responses: {
    202: json(
      'Accepted.',
      z
        .object({
          messageId: z.string(),
          status: z.enum(['accepted', 'queued']).openapi({
            description: 'queued: the thread worked, or something waited before it.',
          }),
        })
        .openapi('SentMessage'),
    ),
    ...writeRefusals,
  },
})

const read = createRoute({
  ...shared,
  path: '/threads/{threadId}/messages/{messageId}',
  method: 'get',
  operationId: 'readMessage',
  summary: 'A message, and what became of it: delivered, rejected, refused or removed, once.',
  request: { params: threadParams.extend({ messageId: z.string() }) },
  responses: { 200: json('The message.', messageRead), ...readRefusals },
})

/** Adds the routes that list and read the messages of a thread, and send it one. */
export function addMessagesRoutes(app: ThreadApp, server: ServerContext): void {
  const { client, admitMessage } = server
  app.openapi(list, async (context) => {
    const { threadId } = context.req.valid('param')
    return context.json(
      await client.get(threadId).messages(withoutUndefined(context.req.valid('query'))),
      200,
    )
  })
  app.openapi(read, async (context) => {
    const { threadId, messageId } = context.req.valid('param')
    const found = await client.get(threadId).message(messageId)
    if (found === null)
      throw new ProblemError(404, 'not_found', `There is no message ${messageId} in this thread.`)
    return context.json(found, 200)
  })
  app.openapi(send, async (context) => {
    const { threadId } = context.req.valid('param')
    const { key: repeated, ...message } = context.req.valid('json')
    context.set('keyless', keyOf(context, repeated) === undefined)
    const sent = await admitMessage(context.get('caller'), threadId, () =>
      // The schema has checked the fields, and the client checks them again.
      threadOfCommand(server, context, repeated).send(message as NewMessage),
    )
    return context.json(sent, 202)
  })
}
