import type { MiddlewareHandler } from 'hono'
import { openEndpointState } from '../../activities/thread-state/endpoint-state.js'
import type { EndpointState } from '../../activities/thread-state/endpoint-state.js'
import { contextOf } from '../../client/thread-client.js'
import type { ThreadClient } from '../../client/thread-client.js'
import type { Registry } from '../../definitions/known-definitions.js'
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { ThreadEndpoint } from '../../definitions/thread-state.js'
import { ConfigError, ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { findThread } from '../../store/threads/threads.js'
import { ProblemError } from '../error-response.js'
import { logBroken } from '../request-log.js'
import type { ServerContext, ServerEnv } from '../server-context.js'
import { invokeInPlace, runEndpoint, tellWorkflows } from './run-endpoint.js'

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

async function openState({ client, endpoints, threadId, signal }: Opening): Promise<EndpointState> {
  const context = contextOf(client)
  const store = await context.store()
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null) throw new ThreadNotFoundError(threadId)
  const { registry, env = {} } = endpoints
  const plan = buildPlan(registry, thread.agent, CAPS)
  return openEndpointState({
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

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

type Method = (typeof METHODS)[number]

/** A part of a path: written out, one open part, or all the rest. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string }
  | { readonly kind: 'rest' }

/** Where a thread endpoint is. */
interface EndpointRoute {
  readonly method: Method
  readonly parts: readonly Part[]
}

/**
 * Reads a name of Standard Agents: the path of a file below `api/` without its ending. `orders/[id].post` is POST on
 * `orders/…`; without a method it is GET; `index` is its folder; `[*]` is all the rest, or nothing. @throws ConfigError
 */
export function endpointRoute(name: string): EndpointRoute {
  const [, path = '', suffix] = /^(.*?)(?:\.(get|post|put|patch|delete))?$/i.exec(name) ?? []
  const segments = path.split('/')
  if (segments.at(-1) === 'index') segments.pop()
  const parts = segments.map((segment) => partOf(segment, name))
  const rest = parts.findIndex(({ kind }) => kind === 'rest')
  const names = parts.flatMap((part) => (part.kind === 'open' ? [part.name] : []))
  if (rest !== -1 && rest < parts.length - 1) throw wrong(name, 'more behind [*]')
  if (new Set(names).size < names.length) throw wrong(name, 'the same name twice')
  // The expression lets in nothing else.
  return { method: (suffix?.toLowerCase() ?? 'get') as Method, parts }
}

function partOf(segment: string, name: string): Part {
  if (segment === '[*]') return { kind: 'rest' }
  const [, open] = /^\[([\w-]+)\]$/.exec(segment) ?? []
  if (open !== undefined) return { kind: 'open', name: open }
  if (/^[\w.~-]+$/.test(segment) && !/^\.{1,2}$/.test(segment)) return { kind: 'text', text: segment }
  throw wrong(name, segment === '' ? 'an empty part' : `"${segment}"`)
}

function wrong(name: string, came: string): ConfigError {
  return new ConfigError([
    `Expected thread endpoints to be named as in "orders/[id].post" or "files/[*]", got ${came} in "${name}".`,
  ])
}

/** The parts that a route leaves open, of a path that it matches; else null. */
export function matchRoute(
  { parts }: EndpointRoute,
  path: readonly string[],
): Readonly<Record<string, string>> | null {
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'rest') return { ...params, '*': path.slice(index).join('/') }
    const segment = path[index]
    if (segment === undefined || (part.kind === 'text' && part.text !== segment)) return null
    if (part.kind === 'open') params[part.name] = segment
  }
  return path.length === parts.length ? params : null
}

const WEIGHT = { text: 0, open: 1, rest: 2 } as const

/** What is written out goes before what is open, and that before the rest; from left to right. */
export function comparePrecedence(one: EndpointRoute, other: EndpointRoute): number {
  for (let index = 0; index < Math.max(one.parts.length, other.parts.length); index += 1) {
    const difference = weightAt(one, index) - weightAt(other, index)
    if (difference !== 0) return difference
  }
  return 0
}

/** A route that has ended matches nothing more, so it goes before one whose rest may be nothing. */
function weightAt({ parts }: EndpointRoute, index: number): number {
  const part = parts[index]
  return part === undefined ? 0 : WEIGHT[part.kind]
}
