import { createRoute, z } from '@hono/zod-openapi'
import { positionAfter } from '../../client/event-cursor.js'
import { asBadRequest } from '../bad-request.js'
import { eventStream } from '../event-stream.js'
import { logBroken } from '../request-log.js'
import { flag, readRefusals, security, threadParams } from '../schemas/parts.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const after = z.string().max(2200).optional()

/** As event streams have it. */
const frame = z
  .object({
    id: z.string(),
    event: z.string().openapi({ description: 'The type of the event.' }),
    data: z.string().openapi({ description: 'The event, as JSON.' }),
  })
  .openapi('EventFrame')

const follow = createRoute({
  method: 'get',
  path: '/threads/{threadId}/events',
  operationId: 'followEvents',
  tags: ['events'],
  security,
  summary: 'What happens in the thread, as it happens: server-sent events, without a gap.',
  description:
    'Each event is one JSON object in `data`. The stream ends when the thread closes, and now and then before: connect ' +
    'again with the last `id` as `Last-Event-ID`, as browsers do by themselves. 204 says that nothing more will come.',
  request: {
    params: threadParams,
    query: z.strictObject({
      after: after.openapi({
        description: 'The `cursor` of an event, or a sequence: events come from the next one on.',
      }),
      follow: flag.openapi({ description: 'False: ends with the last event there is.' }),
    }),
    headers: z.object({
      'last-event-id': after.openapi({ description: 'The last id that was seen; goes before `after`.' }),
    }),
  },
  responses: {
    200: { description: 'The events.', content: { 'text/event-stream': { schema: frame } } },
    204: { description: 'The thread is closed, and its last event was seen.' },
    ...readRefusals,
  },
})

const HEADERS = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }

/** The live view of a thread. */
export function addEventsRoutes(app: ThreadApp, server: ServerContext): void {
  const { client, heartbeat, longestStream, closing } = server
  app.openapi(follow, async (context) => {
    const { threadId } = context.req.valid('param')
    const { after: given = '0', follow: follows = true } = context.req.valid('query')
    const last = context.req.valid('header')['last-event-id'] ?? given
    await asBadRequest(client, async () => positionAfter(last))
    // Answered by this too, and its body let fall: nobody would end it.
    if (context.req.raw.method === 'HEAD') return context.body(null, 200, HEADERS)
    const end = new AbortController()
    const signal = AbortSignal.any([end.signal, closing, AbortSignal.timeout(longestStream)])
    const thread = await client.find(threadId)
    const events = client
      .get(threadId)
      .events({ after: last, follow: follows, signal })
      [Symbol.asyncIterator]()
    // A browser would come back for ever to a stream that ends at once; this is how it is told not to.
    const first = thread?.closedAt === null || thread === null ? undefined : await events.next()
    if (first?.done === true) return context.body(null, 204)
    const onFailure = (failure: unknown): void => logBroken(server, context, failure)
    const body = eventStream(events, { first, heartbeat, signal, onEnd: () => end.abort(), onFailure })
    return new Response(body, { headers: HEADERS })
  })
}
