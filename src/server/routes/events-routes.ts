import { setTimeout as sleep } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import { parsePosition } from '../../client/events/follow-events.js'
import type { ThreadEvent } from '../../protocol/events.js'
import { asBadRequest } from '../error-response.js'
import { logBroken } from '../request-log.js'
import { flag, readRefusals, security, threadParams } from '../schemas.js'
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
    await asBadRequest(client, async () => parsePosition(last))
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

interface EventStreamOptions {
  /** One that was read already. */
  readonly first: IteratorResult<ThreadEvent, void> | undefined
  /** Milliseconds between two signs of life while nothing happens. */
  readonly heartbeat: number
  /** The stream ends when this aborts. */
  readonly signal: AbortSignal
  /** The reader has gone, or the stream has ended: nobody asks for more. */
  readonly onEnd: () => void
  /** What broke it off. Whoever reads it comes back behind the last event. */
  readonly onFailure: (failure: unknown) => void
}

const encoder = new TextEncoder()

/**
 * Events as an event stream of the web. It is pulled: the next event is read when the reader has taken the one before, so a
 * slow one holds nothing up and is held in no memory, and nothing is read for one that never comes. While nothing happens a
 * comment keeps proxies from cutting it.
 */
function eventStream(
  events: AsyncIterator<ThreadEvent, void>,
  { first, heartbeat, signal, onEnd, onFailure }: EventStreamOptions,
): ReadableStream<Uint8Array> {
  let next = first === undefined ? undefined : Promise.resolve(first)
  let isOver = false

  /** Once: a reader that is stuck pulls no more, and must hold nothing all the same. */
  async function end(controller?: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (isOver) return
    isOver = true
    onEnd()
    controller?.close()
    await events.return?.()
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    next ??= events.next()
    const came = await within(next, heartbeat, signal)
    // A stream that its reader has left takes nothing more, not even its end.
    if (isOver) return
    if (came === 'quiet') return controller.enqueue(encoder.encode(': \n\n'))
    next = undefined
    if (came === 'ended' || came.done === true) return end(controller)
    controller.enqueue(encoder.encode(frameOf(came.value)))
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const stop = (): void => void end(controller).catch(onFailure)
        if (signal.aborted) stop()
        else signal.addEventListener('abort', stop, { once: true })
      },
      pull: (controller) =>
        pull(controller).catch(async (failure: unknown) => {
          onFailure(failure)
          await end(controller)
        }),
      cancel: () => end(),
    },
    // Not even the first event before somebody reads.
    { highWaterMark: 0 },
  )
}

/** What comes first: the event, the end of the stream, or silence for as long as a heartbeat. */
async function within<T>(
  next: Promise<T>,
  heartbeat: number,
  signal: AbortSignal,
): Promise<T | 'quiet' | 'ended'> {
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, signal])
  const quiet = sleep(heartbeat, 'quiet' as const, { signal: stop }).catch(() => 'ended' as const)
  try {
    return await Promise.race([next, quiet])
  } finally {
    over.abort()
  }
}

/** JSON has no line breaks of its own, so an event is one line of data. */
function frameOf(event: ThreadEvent): string {
  return `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
