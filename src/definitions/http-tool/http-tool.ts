/**
 * Tools that are HTTP requests, declared instead of written.
 *
 * Owns: what such a definition may say, and the request that its call makes. Does not own: templates, credentials and answers (their files
 * are beside this one), addresses and redirects (`src/egress`), and what every tool has: permission, tries, results.
 */
import { exceptionsFor } from '../../egress/addresses.js'
import { exchange } from '../../egress/exchange.js'
import { EgressError, checkUrl } from '../../egress/guarded-request.js'
import { ConfigError } from '../../protocol/errors.js'
import { toHeaderValue } from '../../protocol/values.js'
import type { ArgumentSchema } from '../plan/argument-schema.js'
import { hasArgument } from '../plan/argument-schema.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolResult } from '../tool-result.js'
import type { ToolCall, ToolDefinition } from '../tool.js'
import { pointerProblems, readHttpAnswer, requestError } from './http-answer.js'
import type { Select } from './http-answer.js'
import { declaredVariables, readCredentials } from './http-auth.js'
import type { HttpAuth } from './http-auth.js'
import { fillRequest, headerNameProblems, methodOf, templateProblems } from './http-template.js'
import type { RequestTemplate } from './http-template.js'

/** What a tool is beside its request. */
type ToolFields<Schema extends ArgumentSchema | undefined> = Omit<
  ToolDefinition<Schema>,
  'execute' | 'remote'
>

/**
 * A tool that makes one HTTP request. In the templates `{name}` stands for an argument, which is encoded for its place. Arguments that no
 * template names are the query of a GET or DELETE, and fields of the JSON body of any other request.
 */
export interface HttpToolDefinition<Schema extends ArgumentSchema | undefined = ArgumentSchema | undefined>
  extends ToolFields<Schema>, RequestTemplate {
  /** Credentials by the names of variables; the tool declares them as secrets. They go to the origin of the URL only. */
  readonly auth?: HttpAuth
  /** The header that carries the key of the call, such as `Idempotency-Key`: the service then does it once, so the tool is `idempotent`. */
  readonly idempotencyHeader?: string
  /** The part of the answer that is the result: a JSON Pointer, or a function. @default all of it */
  readonly select?: Select
  /** Stores the result as this value of the thread (`state.getValue`); the model reads only that. @default the model reads the result */
  readonly storeAs?: string
  /** Milliseconds for one request with its redirects; `timeout` is for all tries together. @default 30,000 */
  readonly requestTimeout?: number
  /** The most bytes of an answer, unpacked; at most 32 MB. @default 1,000,000 */
  readonly answerBytes?: number
  /** Names of hosts that redirects may lead to, beside that of the URL. @default none */
  readonly redirectHosts?: readonly string[]
  /**
   * Hosts, addresses and networks of your own that may be reached, also by http: `orders.internal`, `10.1.0.0/16`.
   * @default EVERTHREAD_EGRESS_ALLOW of the worker, separated by commas; else none
   */
  readonly allow?: readonly string[]
}

const REQUEST_TIMEOUT = 30_000
const ANSWER_BYTES = 1_000_000
const MOST_ANSWER_BYTES = 32 * 1024 * 1024

/** Methods that may be repeated; the first of them changes nothing. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE'])

/**
 * Declares a tool that is an HTTP request. A GET is `readOnly` and `idempotent`, PUT and DELETE are `idempotent`, unless it says otherwise.
 * @throws ConfigError with everything that is wrong with the request
 */
export function defineHttpTool<Schema extends ArgumentSchema | undefined = undefined>(
  definition: HttpToolDefinition<Schema>,
): ToolDefinition<Schema> {
  const { url, auth, idempotencyHeader, variables: given = [] } = definition
  // The compiler's part of a schema is of no use here.
  const request = definition as HttpToolDefinition
  const method = methodOf(request)
  const problems = requestProblems(request)
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `HTTP tool ${method} ${String(url)}: ${problem}`))
  const isGet = method === 'GET'
  const variables = declaredVariables(auth, given, new URL(url.replaceAll(/[{}]/g, '')).host)
  return {
    ...(isGet && { readOnly: true }),
    ...((REPEATABLE.has(method) || idempotencyHeader !== undefined) && { idempotent: true }),
    ...withoutRequest(definition),
    ...(variables.length > 0 && { variables }),
    // Arguments are an object, whatever their schema is.
    execute: (state, args, call) => makeRequest(request, { state, args: args as HttpCall['args'], call }),
  }
}

/** The fields that say what is sent, and what is made of the answer. */
const REQUEST_FIELDS: ReadonlySet<string> = new Set<RequestField>([
  ...(['method', 'url', 'query', 'headers', 'body', 'form', 'graphql', 'auth', 'idempotencyHeader'] as const),
  ...(['select', 'storeAs', 'requestTimeout', 'answerBytes', 'redirectHosts', 'allow'] as const),
])

type RequestField = Exclude<keyof HttpToolDefinition, keyof ToolDefinition>

function withoutRequest<Schema extends ArgumentSchema | undefined>(
  definition: HttpToolDefinition<Schema>,
): ToolFields<Schema> {
  const fields = Object.entries(definition).filter(([name]) => !REQUEST_FIELDS.has(name))
  // Nothing but the fields of the request was left out.
  return Object.fromEntries(fields) as unknown as ToolFields<Schema>
}

function requestProblems(definition: HttpToolDefinition): readonly string[] {
  const { url, args, auth, select, answerBytes, requestTimeout, allow, idempotencyHeader } = definition
  const problems = templateProblems(definition, (name) => args !== undefined && hasArgument(args, name))
  return [
    ...problems,
    ...(auth !== undefined && 'header' in auth ? headerNameProblems(auth.header) : []),
    ...(idempotencyHeader === undefined ? [] : headerNameProblems(idempotencyHeader)),
    ...redirectProblems(definition.redirectHosts),
    ...(typeof select === 'string' ? pointerProblems(select) : []),
    ...boundProblem('answerBytes', answerBytes, MOST_ANSWER_BYTES),
    ...boundProblem('requestTimeout', requestTimeout, 86_400_000),
    ...addressProblems(problems.length === 0 ? url : null, allow),
  ]
}

function boundProblem(name: string, value: number | undefined, most: number): readonly string[] {
  if (value === undefined || (Number.isInteger(value) && value > 0 && value <= most)) return []
  return [`expected "${name}" to be a whole number from 1 to ${most}, got ${String(value)}`]
}

/** A host is compared as a URL writes it, without a port: any other text would never be met. */
function redirectProblems(hosts: readonly string[] = []): readonly string[] {
  return hosts
    .filter((host) => host.includes('*') || URL.parse(`https://${host}/`)?.hostname !== host.toLowerCase())
    .map(
      (host) => `expected "redirectHosts" to be names of hosts, without a port, got ${JSON.stringify(host)}`,
    )
}

/** What can be said about the address before anything is resolved. */
function addressProblems(url: string | null, allow: readonly string[] | undefined): readonly string[] {
  try {
    const exceptions = exceptionsFor(allow)
    if (url !== null) checkUrl(url.replaceAll(/[{}]/g, ''), exceptions)
    return []
  } catch (error) {
    if (error instanceof EgressError) return [error.message]
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

interface HttpCall {
  readonly state: ThreadState
  readonly args: Readonly<Record<string, unknown>>
  readonly call: ToolCall
}

/** @throws ToolError */
async function makeRequest(
  request: HttpToolDefinition,
  { state, args, call }: HttpCall,
): Promise<ToolResult> {
  const { auth, answerBytes = ANSWER_BYTES, requestTimeout = REQUEST_TIMEOUT } = request
  const method = methodOf(request)
  const { url, headers, body } = fillRequest(request, args)
  const credentials = await readCredentials(state, auth)
  // An argument of this name would stand before the credential.
  for (const [name, value] of credentials.query) url.searchParams.set(name, value)
  const key = request.idempotencyHeader
  const signal = state.execution?.abortSignal
  const isRepeatable = REPEATABLE.has(method) || key !== undefined
  try {
    const answer = await exchange({
      ...{ url: url.href, method, answerBytes, timeout: requestTimeout },
      headers: {
        ...headers,
        ...(key !== undefined && { [key.toLowerCase()]: toHeaderValue(call.idempotencyKey) }),
      },
      secretHeaders: credentials.headers,
      exceptions: exceptionsFor(request.allow),
      ...(body !== undefined && { body }),
      ...(request.redirectHosts !== undefined && { redirectHosts: request.redirectHosts }),
      ...(signal !== undefined && { signal }),
    })
    const { select, graphql } = request
    const redact = (text: string): string => credentials.redactor.redact(text)
    const result = readHttpAnswer(answer, { redact, answerBytes, select, isGraphql: graphql !== undefined })
    return await stored(state, request.storeAs, result)
  } catch (error) {
    throw requestError(error, isRepeatable)
  }
}

/** KP-04.4: the result stays in the thread, and the model reads where. */
async function stored(
  state: ThreadState,
  key: string | undefined,
  answered: ToolResult,
): Promise<ToolResult> {
  if (key === undefined || answered.result === undefined) return answered
  await state.setValue(key, answered.result)
  return { ...answered, result: `Stored as the value "${key}" of this conversation.` }
}
