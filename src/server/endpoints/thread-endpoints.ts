import { randomUUID } from 'node:crypto'

import type { MiddlewareHandler } from 'hono'

import { openActingState } from '../../activities/thread-state/acting-state.js'
import type { ActingState } from '../../activities/thread-state/acting-state.js'
import { readThrown } from '../../activities/thrown.js'
import { contextOf } from '../../client/thread-client.js'
import { buildPlan } from '../../definitions/build-plan.js'
import type { Registry } from '../../definitions/registry.js'
import type { ThreadEndpoint } from '../../definitions/thread-endpoint.js'
import { ConfigError } from '../../protocol/config-error.js'
import { LIMITS } from '../../protocol/limits.js'
import { TemporalUnavailableError, ThreadError, ThreadNotFoundError } from '../../protocol/thread-error.js'
import { findError, recordError } from '../../store/errors.js'
import { FileError } from '../../store/file-error.js'
import { findThread } from '../../store/threads.js'
import { ProblemError } from '../problem-error.js'
import type { ServerContext, ServerEnv } from '../server-context.js'
import { comparePrecedence, endpointRoute, matchRoute } from './endpoint-route.js'
import type { EndpointRoute } from './endpoint-route.js'
import { tellWorkflows } from './tell-workflows.js'

/** Routes of your own below `/threads/{threadId}/api/`, for whoever may see the thread. */
export interface ThreadEndpoints {
  /** By path and method, as Standard Agents names files: `orders/[id].post`. */
  readonly routes: Readonly<Record<string, ThreadEndpoint>>
  /** What `state` knows of agents, tools and effects: the workers'. */
  readonly registry: Registry
  /** Values of variables for every thread: the workers'. */
  readonly env?: Readonly<Record<string, string>>
}

/** Answers what is below `api/`. @throws ConfigError for names that are none, and for two that are the same */
export function answerEndpoints(
  server: ServerContext,
  endpoints: ThreadEndpoints,
): MiddlewareHandler<ServerEnv> {
  const routes = Object.entries(endpoints.routes)
    .map(([name, endpoint]) => ({ name, endpoint, route: endpointRoute(name) }))
    .toSorted((one, other) => comparePrecedence(one.route, other.route))
  for (const [index, { name, route }] of routes.entries()) {
    const same = routes.slice(0, index).find((earlier) => shapeOf(earlier.route) === shapeOf(route))
    if (same !== undefined)
      throw new ConfigError([
        `Expected thread endpoints to differ, got "${same.name}" and "${name}" at one path.`,
      ])
  }
  return async (context) => {
    const threadId = context.req.param('threadId') ?? ''
    const path = pathBehindApi(context.req.raw.url)
    const method = context.req.method.toLowerCase()
    const matching = routes.flatMap((one) => {
      const params = matchRoute(one.route, path)
      return params === null ? [] : [{ ...one, params }]
    })
    const found = matching.find(({ route }) => route.method === method)
    if (found === undefined) throw noRoute(matching.map(({ route }) => route))
    return answer({
      server,
      endpoints,
      threadId,
      ...found,
      request: context.req.raw,
      requestId: context.get('requestId'),
    })
  }
}

/** What a request can tell apart. */
function shapeOf({ method, parts }: EndpointRoute): string {
  return [method, ...parts.map((part) => (part.kind === 'text' ? `=${part.text}` : part.kind))].join('/')
}

/** Decoded part by part, so that a slash inside of one stays there. */
function pathBehindApi(url: string): readonly string[] {
  const [, path = ''] = /\/threads\/[^/]+\/api\/?(.*)$/.exec(new URL(url).pathname) ?? []
  try {
    return path === '' ? [] : path.split('/').map(decodeURIComponent)
  } catch {
    throw new ProblemError(400, 'bad_request', 'Expected a path that can be decoded, got another one.')
  }
}

function noRoute(others: readonly EndpointRoute[]): ProblemError {
  if (others.length === 0) return new ProblemError(404, 'not_found', 'There is nothing at this path.')
  const methods = [...new Set(others.map(({ method }) => method.toUpperCase()))].join(', ')
  return new ProblemError(
    405,
    'method_not_allowed',
    `Expected ${methods} at this path, got another method.`,
    {
      Allow: methods,
    },
  )
}

interface Answering {
  readonly server: ServerContext
  readonly endpoints: ThreadEndpoints
  readonly threadId: string
  readonly endpoint: ThreadEndpoint
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly requestId: string
}

/** Runs the user's code, and answers when all that it began is done. */
async function answer(answering: Answering): Promise<Response> {
  const { endpoint, params, request } = answering
  const acting = await openState(answering)
  const { state, settled } = acting
  let response: unknown
  try {
    response = await endpoint(request, state, params)
    await settled()
  } catch (error) {
    if (TemporalUnavailableError.isInstance(error)) throw halfDone(error)
    if (ThreadError.isInstance(error) || FileError.isInstance(error)) throw error
    await keepWords(answering, acting, error)
    throw new EndpointError(error)
  }
  if (response instanceof Response) return new Response(response.body, response)
  throw new EndpointError(new TypeError('Expected a thread endpoint to answer a Response.'))
}

/** Each run of an endpoint writes anew: nobody is told to repeat it. */
function halfDone(cause: TemporalUnavailableError): ProblemError {
  return Object.assign(
    new ProblemError(
      503,
      'endpoint_failed',
      'Expected an answer of Temporal, got none: what the endpoint wrote before is kept, so look before you repeat it.',
    ),
    { cause },
  )
}

/** Code of an endpoint has thrown. Its words are in the store; whoever called learns nothing of them. */
class EndpointError extends Error {
  override readonly name = 'EndpointError'
  readonly code = 'endpoint_failed'

  constructor(cause: unknown) {
    super('A thread endpoint has failed.', { cause })
    if (cause instanceof Error && cause.stack !== undefined) this.stack = cause.stack
  }
}

async function openState({ server, endpoints, threadId }: Answering): Promise<ActingState> {
  const context = contextOf(server.client)
  const store = await context.store()
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null) throw new ThreadNotFoundError(threadId)
  const { registry, env = {} } = endpoints
  const plan = buildPlan(registry, thread.agent, CAPS)
  return openActingState({
    dependencies: { registry, store, caps: CAPS, env },
    threadId,
    agent: thread.agent,
    content: 'missing' in plan ? null : plan,
    tell: tellWorkflows(context, { threadId, parent: thread.parent_thread_id }),
  })
}

/** A plan is built for what it says of variables: nothing runs by it here. */
const CAPS = {
  stepsPerRun: LIMITS.stepsPerRun,
  sessionTurns: LIMITS.sessionTurns,
  repeatedToolErrors: LIMITS.repeatedToolErrors,
}

/** T5: for operators, found by the id of the request. */
async function keepWords(answering: Answering, { redactor }: ActingState, error: unknown): Promise<void> {
  const { server, threadId, requestId } = answering
  const words = readThrown(redactor.redactThrown(error))
  const kept = {
    threadId,
    at: Date.now() * 1000,
    type: 'Endpoint.threw',
    ...words,
  }
  const store = await contextOf(server.client).store()
  const id = `${threadId}:${requestId}`
  await store.write(async (tx) => {
    // A caller that names all its requests alike hides none of its failures.
    const isTaken = (await findError(tx, id)) !== null
    await recordError(tx, { ...kept, id: isTaken ? `${id}:${randomUUID()}` : id })
  })
}
