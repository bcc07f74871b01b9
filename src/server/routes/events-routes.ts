import { createRoute, z } from '@hono/zod-openapi'
import { isTreeClosed, requireCursor, requireTreeCursor } from '../../client/events/event-stream.js'
import type { ThreadEvent } from '../../protocol/events.js'
import type { SnapshotUpdated } from '../../client/index.js'
import { contextOf } from '../../client/thread-client.js'
import { ConfigError } from '../../protocol/errors.js'
import type { ThreadHandle } from '../../client/thread-handle.js'
import type { FollowEvents } from '../../client/events/follow-events.js'
import { VIEWS } from '../../views/views.js'
import type { ViewName } from '../../views/views.js'
import { answerConfigErrors } from '../error-response.js'
import { VIEW_SCHEMAS } from '../view-schemas.js'
import { flag, readRefusals, security, threadParams } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'
import { queryToken } from '../tokens/thread-tokens.js'
import { openStream, STREAM_HEADERS } from '../stream-response.js'

const after = z.string().max(2200).optional()

const view = z.enum(Object.keys(VIEWS) as [ViewName, ...ViewName[]]).optional()

/** What the text of a frame is: JSON Schema has words for it that the types of `openapi()` lack. */
const VIEWED = {
  contentMediaType: 'application/json',
  contentSchema: {
    anyOf: [
      // An event of the log, whose schema is `everthread/events.schema.json`.
      { type: 'object', properties: { type: { type: 'string' }, cursor: { type: 'string' } } },
      ...Object.keys(VIEW_SCHEMAS).map((name) => ({ $ref: `#/components/schemas/${name}` })),
    ],
  },
}

/** One event in the format of server-sent events. */
const frame = z
  .object({
    id: z.string(),
    event: z.string().openapi({ description: 'The type of the event.' }),
    data: z.string().openapi({
      description: 'The event, as JSON; with `view` one of these.',
      ...VIEWED,
    }),
  })
  .openapi('EventFrame')

const follow = createRoute({
  method: 'get',
  path: '/threads/{threadId}/events',
  operationId: 'followEvents',
  tags: ['events'],
  security,
  summary: 'The events of the thread as they happen, without a gap, as server-sent events.',
  description:
    'Each event is one JSON object in `data`. The stream ends when the thread closes, and now and then before: connect ' +
    'again with the last `id` as `Last-Event-ID`, as browsers do by themselves. 204 means that no event follows.',
  request: {
    params: threadParams,
    query: z.strictObject({
      ...queryToken,
      after: after.openapi({
        description: 'The `cursor` of an event, or a sequence: events come from the next one on.',
      }),
      follow: flag.openapi({ description: 'False: the stream ends with the last event that is stored.' }),
      view: view.openapi({
        description:
          'In the words of another runtime: AgentRuntimeEvent, KoreEvent, RunEvent, TaskEvent or OpenTelemetryRecord in ' +
          '`data`. One event may be several there; ids are cursors all the same.',
      }),
      tree: flag.openapi({
        description:
          'True, for the root of a tree: the stored events of all its threads in one order, without the text that streams.',
      }),
      snapshot: flag.openapi({
        description:
          'True: the first event is `snapshot.updated`, with the state of the thread. Where the cursor leads nowhere any ' +
          'more, its `mode` is `repair`, and there is no error.',
      }),
    }),
    headers: z.object({
      'last-event-id': after.openapi({ description: 'The last id that was read; overrides `after`.' }),
    }),
  },
  responses: {
    200: { description: 'The events.', content: { 'text/event-stream': { schema: frame } } },
    204: { description: 'The thread is closed, and its last event was read.' },
    ...readRefusals,
  },
})

/** Adds the route of a thread's live events. */
export function addEventsRoutes(app: ThreadApp, server: ServerContext): void {
  // No route names the objects in the texts of its frames.
  for (const [name, schema] of Object.entries(VIEW_SCHEMAS)) app.openAPIRegistry.register(name, schema)
  const { client } = server
  app.openapi(follow, async (context) => {
    const { threadId } = context.req.valid('param')
    const {
      after: given,
      follow: follows = true,
      tree = false,
      snapshot = false,
      view: name,
    } = context.req.valid('query')
    const seen = context.req.valid('header')['last-event-id']
    const after = seen ?? given
    await answerConfigErrors(client, () =>
      checkPlace(client, { threadId, tree, snapshot, after, view: name }),
    )
    // Hono runs this handler for HEAD too and drops the body: nothing would end the stream.
    if (context.req.raw.method === 'HEAD') return context.body(null, 200, STREAM_HEADERS)
    const stream = openStream(server, context)
    const { signal } = stream
    const options = { ...(after !== undefined && { after }), follow: follows, tree, signal }
    const thread = client.get(threadId)
    const read = (begins: boolean): AsyncIterator<string, void> =>
      framesOf(thread, name, begins ? { ...options, snapshot: true } : options)
    // A browser connects again for ever to a stream that ends at once; 204 makes it stop.
    const isOver = await isClosed(client, threadId, tree)
    if (isOver && snapshot && seen !== undefined && (await endsAtOnce(read(false))))
      return context.body(null, 204)
    const events = read(snapshot)
    const first = isOver ? await events.next() : undefined
    if (first?.done === true) return context.body(null, 204)
    return stream.respond({ frames: events, first })
  })
}

/** One event, as its reader gets it. */
interface Frame {
  readonly id: string
  readonly type: string
  readonly data: object
}

async function* framesOf(
  thread: ThreadHandle,
  name: ViewName | undefined,
  options: FollowEvents & { readonly snapshot?: true },
): AsyncGenerator<string, void> {
  if (name === undefined) {
    const { snapshot, ...plain } = options
    const events: AsyncIterable<StreamedEvent> =
      snapshot === true ? thread.events({ ...plain, snapshot }) : thread.events(plain)
    for await (const event of events) yield frameOf({ id: event.cursor, type: event.type, data: event })
    return
  }
  const typeOf: (viewed: never) => string = VIEWS[name].typeOf
  for await (const { cursor, event } of thread.view(name, options))
    // Of the same view.
    yield frameOf({ id: cursor, type: typeOf(event as never), data: event })
}

interface Place {
  readonly view: ViewName | undefined
  readonly threadId: string
  readonly tree: boolean
  readonly snapshot: boolean
  readonly after: string | undefined
}

/** @throws ConfigError for a cursor that is none, and for a tree that is none */
async function checkPlace(
  client: ServerContext['client'],
  { threadId, tree, snapshot, view, after = '0' }: Place,
): Promise<void> {
  if (view !== undefined && (tree || snapshot))
    throw new ConfigError([
      'Expected "view" alone, got it with "tree" or "snapshot": a view is of one thread.',
    ])
  // A stream that begins with a snapshot repairs what its cursor does not say.
  if (tree) await requireTreeCursor(contextOf(client), threadId, snapshot ? '0' : after)
  else if (!snapshot) await requireCursor(contextOf(client), threadId, after)
}

async function isClosed(client: ServerContext['client'], threadId: string, tree: boolean): Promise<boolean> {
  if (tree) return isTreeClosed(contextOf(client), threadId)
  const thread = await client.find(threadId)
  return thread !== null && thread.closedAt !== null
}

/** Of a closed thread: whether its reader has its last event. */
async function endsAtOnce(events: AsyncIterator<unknown>): Promise<boolean> {
  try {
    return (await events.next()).done === true
  } catch (error) {
    if (ConfigError.isInstance(error)) return false
    throw error
  } finally {
    await events.return?.()
  }
}

type StreamedEvent = ThreadEvent | SnapshotUpdated

/** Writes an event as one line of data: JSON text has no line breaks. */
export function frameOf({ id, type, data }: Frame): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}
