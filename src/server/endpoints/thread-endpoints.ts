import type { MiddlewareHandler } from 'hono'
import { openActingState } from '../../activities/thread-state/endpoint-state.js'
import type { ActingState } from '../../activities/thread-state/endpoint-state.js'
import { contextOf } from '../../client/thread-client.js'
import type { ThreadClient } from '../../client/thread-client.js'
import type { Registry } from '../../definitions/known-definitions.js'
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { ThreadEndpoint } from '../../definitions/thread-state.js'
import { ConfigError, ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { findThread } from '../../store/threads/threads.js'
import { ProblemError } from '../problem-error.js'
import { logBroken } from '../request-log.js'
import type { ServerContext, ServerEnv } from '../server-context.js'
import { comparePrecedence, endpointRoute, matchRoute } from './endpoint-route.js'
import type { EndpointRoute } from './endpoint-route.js'
import { invokeInPlace } from './invoke-in-place.js'
import { runEndpoint } from './run-endpoint.js'
import { tellWorkflows } from './tell-workflows.js'

/** Routes of your own below `/threads/{threadId}/api/`, for whoever may see the thread. */
export interface ThreadEndpoints {
  /** By path and method, as Standard Agents names files: `orders/[id].post`. */
  readonly routes: Readonly<Record<string, ThreadEndpoint>>
  /** What `state` knows of agents, tools and effects: the workers'. */
  readonly registry: Registry
  /** Values of variables for every thread: the workers'. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * Milliseconds that each has until it answers; a body that streams goes on. Then `request.signal` aborts, its state takes
   * nothing more, and the caller gets 504 `endpoint_timeout`. @default 50,000
   */
  readonly timeout?: number
}

/** Answers what is below `api/`. @throws ConfigError for names that are none, two that are the same, a bad timeout */
export function answerEndpoints(
  server: Pick<ServerContext, 'client' | 'log'>,
  endpoints: ThreadEndpoints,
): MiddlewareHandler<ServerEnv> {
  const { client } = server
  const timeout = timeoutOf(endpoints)
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
    const { endpoint, params } = found
    const asked = { request: context.req.raw, requestId: context.get('requestId') }
    const onBroken = (failure: unknown): void => logBroken(server, context, failure)
    return runEndpoint({ client, threadId, endpoint, params, timeout, onBroken, ...asked }, (signal) =>
      openState({ client, endpoints, threadId, signal }),
    )
  }
}

function timeoutOf({ timeout = LIMITS.endpointTimeout }: ThreadEndpoints): number {
  // A timer takes no more.
  if (Number.isInteger(timeout) && timeout > 0 && timeout < 2 ** 31) return timeout
  throw new ConfigError([
    `Expected "endpoints.timeout" to be whole milliseconds from 1 to ${2 ** 31 - 1}, got ${timeout}.`,
  ])
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

interface Opening {
  readonly client: ThreadClient
  readonly endpoints: ThreadEndpoints
  readonly threadId: string
  /** Of the endpoint: its time is over. */
  readonly signal: AbortSignal
}

async function openState({ client, endpoints, threadId, signal }: Opening): Promise<ActingState> {
  const context = contextOf(client)
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
    signal,
    invokeTool: invokeInPlace({ registry, threadId, signal }),
    tell: tellWorkflows(context, { threadId, parent: thread.parent_thread_id }),
  })
}

/** A plan is built for what it says of variables: nothing runs by it here. */
const CAPS = {
  stepsPerRun: LIMITS.stepsPerRun,
  sessionTurns: LIMITS.sessionTurns,
  repeatedToolErrors: LIMITS.repeatedToolErrors,
}
