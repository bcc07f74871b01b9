/**
 * Templates of HTTP requests: texts with `{name}` in the place of an argument.
 *
 * Owns: where an argument may stand, and how it is written there. Does not own: what an argument may be (the tool's schema).
 * Invariants: an argument changes neither the origin nor the number of the parts of a path (H1); it adds no parameter and no header, and ends no
 * line (H2).
 */
import { halfCharacterProblem, isObject } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { ToolError } from '../tool-error.js'

/** A name in braces. */
const PLACE = /\{([A-Za-z_][\w-]*)\}/g

/** A text that is one argument, whole. */
const WHOLE = /^\{([A-Za-z_][\w-]*)\}$/

type Arguments = Readonly<Record<string, unknown>>

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What is sent. In its texts `{name}` stands for an argument. */
export interface RequestTemplate {
  /** @default GET; POST with `graphql` */
  readonly method?: Method
  /** An https address, such as `https://api.example.com/orders/{orderId}`. Arguments may stand in its path and its query. */
  readonly url: string
  /** Parameters of the query: templates, or values. One whose argument is missing is left out; a list gives one for each element. */
  readonly query?: Readonly<Record<string, JsonValue>>
  /** Templates of headers. One whose argument is missing is left out. */
  readonly headers?: Readonly<Record<string, string>>
  /** The template of the JSON body: a text that is `{name}` becomes that argument, of any type. */
  readonly body?: JsonValue
  /** True: the body is sent as a form (`application/x-www-form-urlencoded`). @default false */
  readonly form?: boolean
  /** A document of GraphQL, whose variables are the arguments that no other template names. An answer with `errors` is a failure; the result is its `data`. */
  readonly graphql?: string
}

/** A request without its credentials. */
interface FilledRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export function methodOf({ method, graphql }: Pick<RequestTemplate, 'method' | 'graphql'>): Method {
  return method ?? (graphql === undefined ? 'GET' : 'POST')
}

/** What is wrong with a request whose arguments `isArgument` knows. */
export function templateProblems(
  { url, ...request }: RequestTemplate,
  isArgument: (name: string) => boolean,
): readonly string[] {
  const { query, headers, body, form, graphql } = request
  const method = methodOf(request)
  const atUrl =
    typeof url === 'string' ? urlTemplateProblem(url) : `expected "url" to be a text, got ${typeof url}`
  const named = namesIn([typeof url === 'string' ? url : '', query ?? {}, headers ?? {}, body ?? null])
  const hasBody = body !== undefined || form !== undefined || graphql !== undefined
  return [
    ...(atUrl === undefined ? [] : [atUrl]),
    ...Object.keys(headers ?? {}).flatMap(headerNameProblems),
    ...named.filter((name) => !isArgument(name)).map((name) => `{${name}} is not one of the arguments`),
    ...((method === 'GET' || method === 'DELETE') && hasBody ? [`a ${method} has no body`] : []),
    ...(form === true && body !== undefined && !isObject(body)
      ? ['expected the "body" of a form to be an object, whose fields are sent']
      : []),
    ...(graphql !== undefined && (body !== undefined || form === true)
      ? ['"graphql" makes the body: leave "body" and "form" out']
      : []),
  ]
}

/** Writes the request. @throws ToolError for an argument that cannot stand where its template names it */
export function fillRequest(request: RequestTemplate, args: Arguments): FilledRequest {
  const { query = {}, headers = {}, body, graphql } = request
  const method = methodOf(request)
  const url = fillUrl(request.url, args)
  const named = new Set(namesIn([request.url, query, headers, body ?? null]))
  const others = Object.fromEntries(Object.entries(args).filter(([name]) => !named.has(name)))
  const isInQuery = method === 'GET' || method === 'DELETE'
  const asked = [...fillQuery(query, args), ...(isInQuery ? parametersOf(others) : [])]
  for (const [name, value] of asked) url.searchParams.append(name, value)
  const own = {
    accept: 'application/json, */*;q=0.5',
    'user-agent': 'everthread',
    ...lowerCased(fillHeaders(headers, args)),
  }
  if (isInQuery) return { url, headers: own, body: undefined }
  if (graphql !== undefined) return { url, ...jsonBody(own, { query: graphql, variables: others }) }
  const content = body === undefined ? others : fillValue(body, args)
  if (request.form !== true) return { url, ...jsonBody(own, content) }
  const form = new URLSearchParams()
  for (const [name, value] of parametersOf(content as Arguments)) form.append(name, value)
  return {
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...own },
    body: form.toString(),
  }
}

function jsonBody(headers: Readonly<Record<string, string>>, content: unknown) {
  return { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(content) }
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Headers that say how a request is sent, and to whom: an argument in them would change both. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'upgrade', 'expect'],
])

/** What is wrong with the name of a header. */
export function headerNameProblems(name: string): readonly string[] {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    return [`expected the name of a header, got ${JSON.stringify(name)}`]
  return OWN_HEADERS.has(name.toLowerCase())
    ? [`the header "${name}" is set by the request itself: leave it out`]
    : []
}

/** The names in a template, each once. */
function namesIn(template: JsonValue | undefined): readonly string[] {
  if (typeof template === 'string')
    return [...new Set([...template.matchAll(PLACE)].map(([, name = '']) => name))]
  if (typeof template !== 'object' || template === null) return []
  return [...new Set(Object.values(template).flatMap((inner) => namesIn(inner as JsonValue)))]
}

/** What is wrong with the template of a URL; undefined: nothing. */
function urlTemplateProblem(template: string): string | undefined {
  const url = URL.parse(template.replace(PLACE, 'x'))
  if (url === null || !/^https?:$/.test(url.protocol))
    return `expected an https URL, got ${JSON.stringify(template)}`
  // A URL parser drops such characters, and reads `\` as `/`: the host and the parts of the path would be others than those checked here.
  if (!/^https?:\/\/[^/][^\p{Cc}\\]*$/iu.test(template) || template.endsWith(' '))
    return `expected a URL that begins with "https://", without backslashes, control characters and blanks around it, got ${JSON.stringify(template)}`
  const before = /^[a-z]+:\/\/[^/?#]*/i.exec(template)?.[0] ?? ''
  if (namesIn(before).length > 0) return 'expected arguments in its path or query, got one in its host'
  if (template.includes('#')) return 'expected a URL without a fragment, which is sent to nobody'
  return undefined
}

/** Writes a URL. @throws ToolError for an argument that cannot stand in it */
function fillUrl(template: string, args: Arguments): URL {
  const [path = '', ...query] = template.split('?')
  const filled = path.replace(PLACE, (_, name: string) =>
    encodeURIComponent(textOf(name, argumentOf(args, name))),
  )
  for (const [index, segment] of filled.split('/').entries())
    if (index > 2 && changesPath(segment, path.split('/')[index] ?? ''))
      throw invalid(`Expected an argument that is a part of a path, got ${JSON.stringify(segment)}.`)
  const rest = query
    .join('?')
    .replace(PLACE, (_, name: string) => encodeURIComponent(textOf(name, argumentOf(args, name))))
  const url = URL.parse(query.length === 0 ? filled : `${filled}?${rest}`)
  if (url === null) throw invalid('Expected arguments that make a URL, got others.')
  return url
}

/** H1: a part that is empty or dots would take others with it. */
function changesPath(segment: string, template: string): boolean {
  return namesIn(template).length > 0 && /^(?:\.|%2e){0,2}$/i.test(segment)
}

/** The parameters of a query by their templates. */
function fillQuery(
  templates: Readonly<Record<string, JsonValue>>,
  args: Arguments,
): readonly (readonly [string, string])[] {
  return parametersOf(
    Object.fromEntries(Object.entries(templates).map(([key, template]) => [key, fillValue(template, args)])),
  )
}

/** The parameters for these values: for one that is missing none, for a list one for each of its elements. */
function parametersOf(values: Arguments): readonly (readonly [string, string])[] {
  return Object.entries(values).flatMap(([key, value]) =>
    listOf(value).map((one) => [key, textOf(key, one)] as const),
  )
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** H2: visible characters of ASCII and Latin-1, and blanks between them. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** The headers: of an argument that is missing none. @throws ToolError */
function fillHeaders(
  templates: Readonly<Record<string, string>>,
  args: Arguments,
): Readonly<Record<string, string>> {
  const filled = Object.entries(templates).flatMap(([name, template]) => {
    const value = fillValue(template, args)
    if (value === undefined || value === null) return []
    const text = textOf(name, value)
    if (!HEADER_VALUE.test(text))
      throw invalid(
        `Expected a value without line breaks and other control characters for the header "${name}".`,
      )
    return [[name, text] as const]
  })
  return Object.fromEntries(filled)
}

/** A value of a template: a text that is one argument becomes that argument, others have it as text. Undefined: the argument is missing. */
function fillValue(template: JsonValue, args: Arguments): unknown {
  if (typeof template === 'string') {
    const whole = WHOLE.exec(template)?.[1]
    if (whole !== undefined) return argumentOf(args, whole)
    return template.replace(PLACE, (_, name: string) => textOf(name, argumentOf(args, name)))
  }
  if (Array.isArray(template))
    return template.map((inner: JsonValue) => fillValue(inner, args)).filter((value) => value !== undefined)
  if (!isObject(template)) return template
  const fields = Object.entries(template as JsonObject).map(
    ([key, inner]) => [key, fillValue(inner ?? null, args)] as const,
  )
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

/** What every object has, such as "constructor", is no argument. */
function argumentOf(args: Arguments, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw invalid(`Expected "${name}" to be a text, a number or a boolean, got ${kindOf(value)}.`)
  const text = String(value)
  const problem = halfCharacterProblem(`"${name}"`, text)
  if (problem !== undefined) throw invalid(problem)
  return text
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object'
}

function invalid(message: string): ToolError {
  return new ToolError(message, { category: 'invalid', code: 'invalid_arguments' })
}
