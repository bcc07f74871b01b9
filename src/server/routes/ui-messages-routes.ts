import { createRoute, z } from '@hono/zod-openapi'
import { fileUrlsOf } from '../../client/ui-messages/file-urls.js'
import { UI_STREAM_HEADERS, uiStreamFrames } from '../../client/ui-messages/response.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import type { UIMessageChunk } from '../../views/ui-messages.js'
import { answerConfigErrors } from '../error-response.js'
import {
  fields,
  json,
  jsonBody,
  readRefusals,
  security,
  threadParams,
  wholeNumber,
  writeRefusals,
} from '../schemas.js'
import type { ServerContext, ThreadApp, ThreadContext } from '../server-context.js'
import { openStream } from '../stream-response.js'

const shared = { tags: ['messages'], security }
const path = '/threads/{threadId}/ui-messages' as const

const frames = {
  'text/event-stream': {
    schema: z.object({ data: z.string() }).openapi('UIMessageFrame', {
      description: 'A chunk of the UI message stream of the AI SDK, as JSON, and [DONE] at the end.',
    }),
  },
}

const position = wholeNumber(0, Number.MAX_SAFE_INTEGER)

const list = createRoute({
  ...{ ...shared, path },
  method: 'get',
  operationId: 'listUIMessages',
  summary: 'The transcript as messages of the AI SDK, for `useChat`.',
  request: {
    params: threadParams,
    query: z.strictObject({
      limit: wholeNumber(1, LIMITS.longestPage).openapi({
        description: 'Rows of the transcript; runs are never cut.',
      }),
      before: position.openapi({ description: '`before` of the page behind.' }),
    }),
  },
  responses: {
    200: json(
      'A page.',
      z
        .object({
          messages: z
            .array(
              z
                .object({
                  id: z.string(),
                  role: z.enum(['user', 'assistant']),
                  metadata: fields.optional(),
                  parts: z.array(fields).readonly(),
                })
                .openapi('UIMessage'),
            )
            .readonly(),
          before: z.int().nullable().openapi({ description: 'Of the page before; null: there is none.' }),
          cursor: z.string().openapi({ description: 'For `after` of the stream.' }),
        })
        .openapi('UIMessagesPage'),
    ),
    ...readRefusals,
  },
})

const send = createRoute({
  ...{ ...shared, path },
  method: 'post',
  operationId: 'sendUIMessages',
  summary: 'Takes the new message or the answers of a `useChat`, and streams what follows.',
  description:
    'Of `messages` only the last one, if it is of the user, and the answers in the last one of the assistant are read. The id of the ' +
    'message is its key: repeated, it is delivered once. `regenerate-message`, and a `messageId` that is the id of that message, answer in a fork, whose id a chunk `data-thread` tells.',
  request: {
    params: threadParams,
    body: jsonBody(
      z
        .looseObject({
          id: z.string().optional().openapi({ description: 'Of the chat; not read.' }),
          messages: z.array(fields).min(1),
          trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
          messageId: z.string().optional(),
          deliver: z.enum(['next_step', 'next_turn', 'preempt', 'reject']).optional().openapi({
            description: 'As of a message. Default: a run of its own.',
          }),
        })
        .openapi('UIMessagesRequest'),
    ),
  },
  responses: { 200: { description: 'The stream.', content: frames }, ...writeRefusals },
})

const resume = createRoute({
  ...{ ...shared, path: `${path}/stream` as const },
  method: 'get',
  operationId: 'resumeUIMessages',
  summary: 'The message of the assistant that is under way, from its start.',
  request: {
    params: threadParams,
    query: z.strictObject({
      after: z.string().max(2200).optional().openapi({
        description: '`cursor` of the transcript: a message that has ended since is told, too.',
      }),
    }),
  },
  responses: {
    200: { description: 'The stream.', content: frames },
    204: { description: 'No message is under way, and none has ended since.' },
    ...readRefusals,
  },
})

/** Adds the routes for `useChat` of the AI SDK. */
export function addUIMessagesRoutes(app: ThreadApp, server: ServerContext): void {
  const { client, admitMessage } = server
  app.openapi(list, async (context) => {
    const { threadId } = context.req.valid('param')
    const options = { ...withoutUndefined(context.req.valid('query')), fileUrl: fileUrlIn(context, threadId) }
    // Parts are JSON, whose types have no index.
    const page = (await client.get(threadId).uiMessages(options)) as unknown as Listed
    return context.json(page, 200)
  })
  app.openapi(send, async (context) => {
    const { threadId } = context.req.valid('param')
    const caller = context.get('caller')
    const { account, user, roles } = caller
    const stream = openStream(server, context)
    const chunks = await client.get(threadId).submitUIMessages(withoutUndefined(context.req.valid('json')), {
      caller: { account, ...withoutUndefined({ user, roles }) },
      admit: (work) => admitMessage(caller, threadId, work),
      mayFork: caller.thread === undefined,
      signal: stream.signal,
      fileUrl: (file, id = threadId) => fileUrlIn(context, id)(file),
    })
    return respondWith(chunks, stream)
  })
  app.openapi(resume, async (context) => {
    const { threadId } = context.req.valid('param')
    if (context.req.raw.method === 'HEAD') return context.body(null, 200, UI_STREAM_HEADERS)
    const stream = openStream(server, context)
    const reading = { signal: stream.signal, fileUrl: fileUrlIn(context, threadId) }
    const chunks = await answerConfigErrors(client, () =>
      client.get(threadId).resumeUIMessages({ ...withoutUndefined(context.req.valid('query')), ...reading }),
    )
    return chunks === null ? context.body(null, 204) : respondWith(chunks, stream)
  })
}

type Listed = z.infer<(typeof list)['responses'][200]['content']['application/json']['schema']>

/** Below the prefix where the application is mounted. */
function fileUrlIn({ req }: ThreadContext, threadId: string): (file: string) => string {
  return fileUrlsOf(threadId, req.path.slice(0, req.path.lastIndexOf('/threads/')))
}

function respondWith(chunks: AsyncIterable<UIMessageChunk>, stream: ReturnType<typeof openStream>): Response {
  return stream.respond({ frames: uiStreamFrames(chunks, stream.signal), headers: UI_STREAM_HEADERS })
}
