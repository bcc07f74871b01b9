/**
 * The routes of AG-UI 1.0, for its own clients.
 *
 * Owns: which thread a request is about, and which refusals are events of the protocol. Does not own: what a run is (`run.ts`).
 * Invariants: a caller sees its own threads only, and finds out nothing about others; what the thread refuses is `RUN_ERROR`, what is wrong
 * with the request itself is a status of HTTP. Who leaves stops nothing.
 */
import { createRoute, z } from '@hono/zod-openapi'
import { readEventPage } from '../../client/events/event-page.js'
import type { NewInput, RunInput } from './input.js'
import { ThreadConflictError, ThreadNotFoundError } from '../../protocol/errors.js'
import { withoutUndefined } from '../../protocol/values.js'
import { contextOf } from '../../client/thread-client.js'
import type { AgUiEvent } from '../../views/ag-ui/events.js'
import { AG_UI_VERSION } from '../../views/ag-ui/events.js'
import { answerConfigErrors, plainProblem } from '../error-response.js'
import { threadIdOfKey } from '../keyed-id.js'
import { frameOf } from '../routes/events-routes.js'
import { jsonBody, readRefusals, security, threadParams, writeRefusals } from '../schemas.js'
import type { Caller, ServerContext, ThreadApp, ThreadContext } from '../server-context.js'
import { openStream, STREAM_HEADERS } from '../stream-response.js'
import { newMessagesOf, runInput } from './input.js'
import { beginRun, framesOf, joinRun } from './run.js'
import type { AgUiFrame, BegunRun } from './run.js'

const shared = { tags: ['ag-ui'], security }

const stream = {
  description: 'Events of AG-UI 1.0, until the end of the run; `id` is a cursor of the thread.',
  content: {
    'text/event-stream': {
      schema: z
        .object({ id: z.string(), event: z.string(), data: z.string() })
        .openapi('AgUiFrame', { description: '`data` is one event as JSON.' }),
    },
  },
}

const runAgent = createRoute({
  ...shared,
  method: 'post',
  path: '/ag-ui/{agent}',
  operationId: 'runAgUiAgent',
  summary: 'A run of AG-UI on the thread that the body names, or on a new one of this agent.',
  description:
    'For an account, a `threadId` that is none of its threads is a key of its own, as for `createThread`. New messages of the ' +
    'person at the end are taken, each once by its id; `resume` answers all open interrupts; with neither, the run joins what the thread does.',
  request: { params: z.object({ agent: z.string().min(1) }), body: jsonBody(runInput) },
  responses: { 200: stream, ...writeRefusals },
})

const runThread = createRoute({
  ...shared,
  method: 'post',
  path: '/threads/{threadId}/ag-ui',
  operationId: 'runAgUiThread',
  summary: 'A run of AG-UI on this thread, also with a token of it.',
  request: { params: threadParams, body: jsonBody(runInput) },
  responses: { 200: stream, ...writeRefusals },
})

const joinThread = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/ag-ui/runs/{runId}',
  operationId: 'joinAgUiRun',
  summary: 'The transcript, and what is left of the run, for a client that was cut off.',
  request: {
    params: threadParams.extend({ runId: z.string().min(1) }),
    query: z.strictObject({
      after: z
        .string()
        .max(2200)
        .optional()
        .openapi({ description: 'The last `id` that was read: the run that was under way there.' }),
    }),
  },
  responses: { 200: stream, ...readRefusals },
})

/** Adds the routes of AG-UI. */
export function addAgUiRoutes(app: ThreadApp, server: ServerContext): void {
  const { client, admitMessage } = server
  app.openapi(runAgent, async (context) => {
    const { agent } = context.req.valid('param')
    const input = context.req.valid('json')
    const caller = context.get('caller')
    const { threadId, isNew } = await findOrName(server, { agent, threadId: input.threadId, caller })
    if (isNew) await createFrom(server, { agent, threadId, input, caller })
    return answer(context, { input, threadId })
  })

  app.openapi(runThread, async (context) => {
    const { threadId } = context.req.valid('param')
    const input = context.req.valid('json')
    if (input.threadId !== threadId) throw new ThreadNotFoundError(input.threadId)
    return answer(context, { input, threadId })
  })

  app.openapi(joinThread, async (context) => {
    const { threadId, runId } = context.req.valid('param')
    const { after } = context.req.valid('query')
    const run = { threadId, runId }
    const begun = await answerConfigErrors(client, () => joinRun({ client, threadId, run }, null, after))
    if (context.req.raw.method === 'HEAD') return context.body(null, 200, STREAM_HEADERS)
    return streamOf(server, context, { threadId, run, begun, protocolVersion: AG_UI_VERSION })
  })

  async function answer(
    context: ThreadContext,
    { input, threadId }: { readonly input: RunInput; readonly threadId: string },
  ): Promise<Response> {
    const run = { threadId: input.threadId, runId: input.runId }
    const { account, user, roles, ...rest } = context.get('caller')
    const caller = { account, ...withoutUndefined({ user, roles }) }
    const send = (messages: readonly NewInput[]): Promise<void> =>
      admitMessage({ ...rest, ...caller }, threadId, async () => {
        for (const { message } of messages) await client.get(threadId).send(message)
      })
    const begun = await beginRun({ client, threadId, run }, input, { caller, send }).catch((error: unknown) =>
      refusedRun(run, error),
    )
    return streamOf(server, context, { threadId, run, begun, protocolVersion: input.protocolVersion })
  }
}

type BegunRunOf = Pick<RunInput, 'threadId' | 'runId'>

interface Streamed {
  readonly threadId: string
  readonly run: BegunRunOf
  readonly begun: BegunRun
  /** Which the client speaks; undefined: one from before the protocol had versions. */
  readonly protocolVersion: string | undefined
}

function streamOf(
  server: ServerContext,
  context: ThreadContext,
  { threadId, run, begun, protocolVersion }: Streamed,
): Response {
  const { client } = server
  const stream = openStream(server, context)
  const events = client.get(threadId).events({ after: begun.sequence, signal: stream.signal })
  const frames = written(framesOf({ client, threadId, run }, begun, events), protocolVersion)
  // A client of its own makes ids of its own: the other routes have the thread under this one.
  return stream.respond({
    frames,
    headers: { ...STREAM_HEADERS, 'X-Thread-Id': encodeURIComponent(threadId) },
  })
}

async function* written(
  frames: AsyncIterable<AgUiFrame>,
  protocolVersion: string | undefined,
): AsyncGenerator<string, void> {
  for await (const frame of frames)
    yield frameOf(protocolVersion === undefined ? { ...frame, data: inOlderWords(frame.data) } : frame)
}

/** Clients from before 1.0 break off at an outcome that they do not know: for them a stopped run has none, and `metadata` has the reason. */
function inOlderWords(event: AgUiEvent): object {
  const isUnknown = event.type === 'RUN_FINISHED' && event.outcome.type === 'cancelled'
  return isUnknown ? { ...event, outcome: undefined } : event
}

interface Named {
  readonly agent: string
  readonly threadId: string
  readonly caller: Caller
}

/** All accounts share one name space of ids: an id that is none of the caller's own threads is a key of its account. */
async function findOrName(
  { client }: ServerContext,
  { agent, threadId: given, caller: { account } }: Named,
): Promise<{ readonly threadId: string; readonly isNew: boolean }> {
  const named = await client.find(given)
  const isOwn = named !== null && (account === null || named.account === account)
  const threadId = isOwn || account === null ? given : threadIdOfKey(account, given)
  const found = isOwn ? named : await client.find(threadId)
  if (found === null) return { threadId, isNew: true }
  if (found.agent !== agent && (await firstAgentOf(client, threadId)) !== agent)
    throw new ThreadConflictError(threadId, {
      problem: `Expected a thread of agent "${agent}", got one of another: use its own route, or another threadId.`,
    })
  return { threadId, isNew: false }
}

/** It may have been handed over since. */
async function firstAgentOf(client: ServerContext['client'], threadId: string): Promise<unknown> {
  const store = await contextOf(client).store()
  const first = { threadId, runtimeId: store.id, sequence: 0, delta: null, bare: 1 }
  const { events } = await store.read((db) => readEventPage(db, first))
  const [started] = events
  return started?.type === 'thread.started' ? started.payload.agent : undefined
}

/** Without a message there is nothing to create a thread for. */
async function createFrom(
  { client, admitMessage }: ServerContext,
  { agent, threadId, input, caller }: Named & { readonly input: RunInput },
): Promise<void> {
  const [first] = newMessagesOf(input)
  if (first === undefined) throw new ThreadNotFoundError(input.threadId)
  const { account, user } = caller
  await admitMessage(caller, threadId, () =>
    answerConfigErrors(client, () =>
      client.create({
        ...{ agent, id: threadId },
        ...(account !== null && { account, ...(user !== undefined && { userId: user }) }),
      }),
    ),
  )
}

/** A refusal of the thread as the protocol says it. @throws what is no refusal of the thread */
function refusedRun({ threadId, runId }: BegunRunOf, error: unknown): BegunRun {
  const { status, code, message } = plainProblem(error)
  if (![400, 403, 404, 409].includes(status) || error instanceof ThreadNotFoundError) throw error
  const first: readonly AgUiEvent[] = [
    { type: 'RUN_STARTED', threadId, runId, protocolVersion: AG_UI_VERSION },
    { type: 'RUN_ERROR', code, message },
  ]
  return { first, rest: null, sequence: 0, isJoined: false }
}
