import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { InvokeTool } from '../../activities/thread-state/buffered-state.js'
import { openEndpointState } from '../../activities/thread-state/endpoint-state.js'
import type { EndpointState } from '../../activities/thread-state/endpoint-state.js'
import { readThrown } from '../../activities/thrown.js'
import { runBounded } from '../../activities/tool/bounded.js'
import { createInPlaceLog, storeInPlace } from '../../activities/tool/in-place-log.js'
import type { InPlaceLog } from '../../activities/tool/in-place-log.js'
import { createNamedCalls, errorResult } from '../../activities/tool/named-call.js'
import type { ClientContext } from '../../client/client-context.js'
import { terminateThread } from '../../client/terminate-thread.js'
import { contextOf } from '../../client/thread-client.js'
import type { ThreadClient } from '../../client/thread-client.js'
import { signalThread } from '../../client/thread-workflow.js'
import type { ThreadSignal } from '../../client/thread-workflow.js'
import type { Registry } from '../../definitions/known-definitions.js'
import { buildPlan, runCaps } from '../../definitions/plan/build-plan.js'
import type { ThreadEndpoint } from '../../definitions/thread-state.js'
import {
  ConfigError,
  TemporalUnavailableError,
  ThreadError,
  ThreadNotFoundError,
} from '../../protocol/errors.js'
import { judgeForThread } from '../../policy/judge.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { ThreadOperation, OutboundOperation } from '../../protocol/operations.js'
import { findError, recordError } from '../../store/errors.js'
import { FileError } from '../../store/files/file-checks.js'
import type { Store } from '../../store/store.js'
import { findThread, findThreadForCall } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { ProblemError } from '../error-response.js'
import { answerBody } from '../file-response.js'
import { logBrokenAnswer } from '../request-log.js'
import type { ServerContext, ServerEnv } from '../server-context.js'
import { comparePrecedence, endpointRoute, matchRoute, shapeOf } from './endpoint-routes.js'
import { nowMicros } from '../../protocol/time.js'

/** Proxies wait a minute for an answer: the caller of an endpoint that hangs gets our error, not theirs. */
const ENDPOINT_TIMEOUT = 50_000

/** How long writes in flight of such an endpoint may take: the answer still arrives within that minute. */
const ENDPOINT_CLOSING = 5_000

/** Routes of your own below `/threads/{threadId}/api/`, for callers that may see the thread. */
export interface ThreadEndpoints {
  /** By path and method, as Standard Agents names files: `orders/[id].post`. */
  readonly routes: Readonly<Record<string, ThreadEndpoint>>
  /** The workers' registry: `state` finds agents, tools and effects in it. */
  readonly registry: Registry
  /** Values of variables for every thread, the same as the workers'. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * Milliseconds until an endpoint has to answer; a body may stream longer. Then `request.signal` aborts, its state accepts
   * nothing more, and the caller gets 504 `endpoint_timeout`. @default 50,000
   */
  readonly timeout?: number
}

/** Answers requests below `api/`. @throws ConfigError for invalid names, two routes at one path and a bad timeout */
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
    if (found === undefined) throw noRoute(matching.map(({ route }) => route.method.toUpperCase()))
    const { endpoint, params } = found
    const asked = { request: context.req.raw, requestId: context.get('requestId') }
    const onFailure = (failure: unknown): void => logBrokenAnswer(server, context, failure)
    return runEndpoint({ client, threadId, endpoint, params, timeout, onFailure, ...asked }, (signal) =>
      openState({ client, endpoints, threadId, signal }),
    )
  }
}

function timeoutOf({ timeout = ENDPOINT_TIMEOUT }: ThreadEndpoints): number {
  // The limit of a timer.
  if (Number.isInteger(timeout) && timeout > 0 && timeout < 2 ** 31) return timeout
  throw new ConfigError([
    `Expected "endpoints.timeout" to be whole milliseconds from 1 to ${2 ** 31 - 1}, got ${timeout}.`,
  ])
}

/** Decodes part by part, so that an encoded slash stays inside its part. */
function pathBehindApi(url: string): readonly string[] {
  const [, path = ''] = /\/threads\/[^/]+\/api\/?(.*)$/.exec(new URL(url).pathname) ?? []
  try {
    return path === '' ? [] : path.split('/').map(decodeURIComponent)
  } catch {
    throw new ProblemError(400, 'bad_request', 'Expected a path that can be decoded, got another one.')
  }
}

function noRoute(allowed: readonly string[]): ProblemError {
  if (allowed.length === 0) return new ProblemError(404, 'not_found', 'There is nothing at this path.')
  const methods = [...new Set(allowed)].join(', ')
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
  /** Aborts when the endpoint's time is over. */
  readonly signal: AbortSignal
}

async function openState({ client, endpoints, threadId, signal }: Opening): Promise<EndpointState> {
  const context = contextOf(client)
  const store = await context.store()
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null) throw new ThreadNotFoundError(threadId)
  const { registry, env = {} } = endpoints
  const plan = buildPlan(registry, thread.agent, { caps: CAPS })
  return openEndpointState({
    dependencies: { registry, store, caps: CAPS, env },
    threadId,
    agent: thread.agent,
    content: 'missing' in plan ? null : plan,
    signal,
    invokeTool: invokeInPlace({ registry, store, thread, signal }),
    sendSignal: signalWorkflows(context, { threadId, parent: thread.parent_thread_id }),
  })
}

/** The plan is built for its variables only: no run uses these caps. */
const CAPS = runCaps()

interface EndpointRun {
  readonly client: ThreadClient
  readonly threadId: string
  readonly endpoint: ThreadEndpoint
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly requestId: string
  /** Milliseconds that the server waits for its answer. */
  readonly timeout: number
  /** Gets the error that broke off a streamed answer. */
  readonly onFailure: (failure: unknown) => void
}

/** Runs the user's code, and answers when all that it has begun is done or its time is over. */
async function runEndpoint(
  run: EndpointRun,
  open: (signal: AbortSignal) => Promise<EndpointState>,
): Promise<Response> {
  const abort = new AbortController()
  const acting = await open(abort.signal)
  const signal = AbortSignal.any([run.request.signal, abort.signal])
  const request = new Request(run.request, { signal })
  const running = answerOf(run, acting, request)
  const never = new AbortController().signal
  const ended = await runBounded(() => running, { timeout: run.timeout, signal: never, abort })
  // A streamed body may use the state until it ends.
  if (ended.kind === 'answered') return ended.value
  void running.then(dropAnswer, () => undefined)
  // An endpoint that threw may have left a tool running, too.
  abort.abort()
  // The caller of a failed endpoint must find all its writes stored: later ones are refused, and so are those that take too long.
  await acting.close(Math.min(run.timeout, ENDPOINT_CLOSING))
  throw ended.kind === 'threw' ? ended.error : timeoutError(run.timeout)
}

async function answerOf(run: EndpointRun, acting: EndpointState, request: Request): Promise<Response> {
  let response: unknown
  try {
    response = await run.endpoint(request, acting.state, run.params)
    await acting.waitForWork()
  } catch (error) {
    if (TemporalUnavailableError.isInstance(error)) throw halfDoneError(error)
    if (ThreadError.isInstance(error) || FileError.isInstance(error)) throw error
    await recordFailure(run, acting, error)
    throw new EndpointError(error)
  }
  if (response instanceof Response) return new Response(bodyOf(run, acting, response), response)
  throw new EndpointError(new TypeError('Expected a thread endpoint to answer a Response.'))
}

function bodyOf(
  run: EndpointRun,
  acting: EndpointState,
  { body }: Response,
): ReadableStream<Uint8Array> | null {
  if (body === null) return null
  const onFailure = (failure: unknown): void => {
    run.onFailure(failure)
    recordFailure(run, acting, failure).catch(run.onFailure)
  }
  return answerBody(body, onFailure)
}

/** Ends the stream of an answer that came after the timeout. */
async function dropAnswer({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined)
}

function timeoutError(timeout: number): ProblemError {
  return new ProblemError(
    504,
    'endpoint_timeout',
    `Expected the endpoint to answer within ${timeout / 1000} seconds, got no answer: what it wrote until then is kept, ` +
      'so look before you repeat it.',
  )
}

/** The answer has no `Retry-After`, because each run of an endpoint writes anew. */
function halfDoneError(cause: TemporalUnavailableError): ProblemError {
  return Object.assign(
    new ProblemError(
      503,
      'endpoint_failed',
      'Expected an answer of Temporal, got none: what the endpoint wrote before is kept, so look before you repeat it.',
    ),
    { cause },
  )
}

/** The error of an endpoint's code. Its text is in the store only; the caller does not get it. */
class EndpointError extends Error {
  override readonly name = 'EndpointError'
  readonly code = 'endpoint_failed'

  constructor(cause: unknown) {
    super('A thread endpoint has failed.', { cause })
    if (cause instanceof Error && cause.stack !== undefined) this.stack = cause.stack
  }
}

/** T5: keeps the original error for operators, under the id of the request. */
async function recordFailure(run: EndpointRun, { redactor }: EndpointState, error: unknown): Promise<void> {
  const { client, threadId, requestId } = run
  const words = readThrown(redactor.redactThrown(error))
  const kept = { threadId, at: nowMicros(), type: 'Endpoint.threw', ...words }
  const store = await contextOf(client).store()
  const id = `${threadId}:${requestId}`
  await store.write(async (tx) => {
    // A caller may send one id with many requests, and each failure is kept.
    const isTaken = (await findError(tx, id)) !== null
    await recordError(tx, { ...kept, id: isTaken ? `${id}:${randomUUID()}` : id })
  })
}

/** Runs are counted from 1. */
const OUTSIDE_OF_RUNS = 0

interface Invoking {
  readonly registry: Registry
  readonly store: Store
  readonly thread: ThreadRecord
  /** Aborts when the endpoint's time is over. */
  readonly signal: AbortSignal
}

/** Calls functions for an endpoint. Tools that need a model, a person or another thread run in workers, so they must be queued. */
function invokeInPlace({ registry, store, thread, signal }: Invoking): InvokeTool {
  const { id: threadId, agent } = thread
  const definition = registry.agent(agent)
  const isKnown = definition !== undefined
  const rules = [{ source: 'agent', permissions: definition?.permissions ?? {} }] as const
  const place = {
    thread_id: threadId,
    id: null,
    run: OUTSIDE_OF_RUNS,
    step: 0,
    call_index: 0,
    side: 'a',
  } as const
  const calls = (log: InPlaceLog) =>
    createNamedCalls({
      registry,
      caller: { threadId, id: `endpoint_${randomUUID()}`, signal },
      log,
      decide: async ({ traits, args, check }) => {
        const unknown = { source: 'agent', effect: 'deny', reason: 'Its definition is missing.' } as const
        const opinion = await check(args)
        const opinions = [...(opinion === null ? [] : [opinion]), ...(isKnown ? [] : [unknown])]
        const found = await store.read((db) => findThreadForCall(db, { threadId, run: OUTSIDE_OF_RUNS }))
        if (found === null) return { decision: 'denied', source: 'default', args }
        return { ...judgeForThread({ traits, rules, opinions, mode: undefined }, found.permissions), args }
      },
      runPrompt: async ({ name }) =>
        errorResult(`"${name}" calls a model, and endpoints call none: use queueTool.`, 'not_in_place'),
    })
  return async (name, args, within) => {
    const log = createInPlaceLog()
    const result = await calls(log)(name, args, within)
    if (log.calls().length > 0) await store.write((tx) => storeInPlace(tx, log, place))
    // Its writes are dropped, like those of any cancelled call (T9).
    signal.throwIfAborted()
    return result
  }
}

interface Sender {
  readonly threadId: string
  /** Null for a root thread. */
  readonly parent: string | null
}

/** Signals what an endpoint did to its thread or a relative, whose rows are committed before (T2). */
function signalWorkflows(
  context: ClientContext,
  { threadId, parent }: Sender,
): (operation: ThreadOperation) => Promise<void> {
  return async (operation) => {
    if (operation.kind !== 'signal_thread')
      return deliver(context, { to: threadId, from: undefined, operation })
    const { to, operation: inner } = operation
    await deliver(context, { to, from: to === parent ? 'child' : 'parent', operation: inner })
  }
}

interface Delivery {
  readonly to: string
  /** How the sender is related to the receiver; undefined if it is the same thread. */
  readonly from: 'child' | 'parent' | undefined
  readonly operation: ThreadOperation
}

async function deliver(context: ClientContext, { to, from, operation }: Delivery): Promise<void> {
  if (operation.kind === 'terminate') await terminateThread(context, { threadId: to })
  else await signalThread(context, to, signalOf(operation, from))
}

/** The signal that the workflow of another thread would send. */
function signalOf(operation: ThreadOperation, from: Delivery['from']): ThreadSignal {
  if (operation.kind === 'queue_message') {
    const { id: messageId, role } = operation
    return { name: SIGNALS.queueMessage, input: { messageId, role, ...(from !== undefined && { from }) } }
  }
  if (operation.kind === 'queue_tool')
    return { name: SIGNALS.queueTool, input: { toolCallId: operation.id, name: operation.name } }
  // A state without a run produces no other operations, and the workflow checks them again (T10).
  return { name: SIGNALS.operations, input: { operations: [operation as OutboundOperation] } }
}
