/**
 * What an HTTP tool makes of an answer.
 *
 * Owns: statuses, kinds of content, and the part of it that is the result. Does not own: the size of answers (`egress/exchange.ts`), and
 * categories of failures (`protocol/payloads/tool-failure.ts`).
 * Invariant: a text of the service is redacted before anything is cut from it, so no part of a secret is left. JSON is redacted value by value,
 * because an escaped secret is another text.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { STATUS_CODES } from 'node:http'
import { EgressError } from '../../egress/guarded-request.js'
import type { EgressErrorCode } from '../../egress/guarded-request.js'
import { retryAfterOf } from '../../egress/retry-after.js'
import type { ToolErrorCategory } from '../../protocol/payloads/tool-failure.js'
import { isObject } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { ToolError } from '../tool-error.js'
import type { ToolResult } from '../tool-result.js'

interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly truncated: boolean
  readonly url: URL
}

/** A JSON Pointer (RFC 6901) into the answer, or a function of it. */
export type Select = string | ((answer: JsonValue) => JsonValue | undefined)

interface Reading {
  readonly redact: (text: string) => string
  /** The most bytes of an answer, for the error of one that has more. */
  readonly answerBytes: number
  readonly select: Select | undefined
  readonly isGraphql: boolean
}

/** Reads an answer of any status. @throws ToolError for one that is no success, or cannot be read */
export function readHttpAnswer(answer: HttpAnswer, reading: Reading): ToolResult {
  const { status, body, truncated } = answer
  if (status < 200 || status > 299) throw statusError(answer, reading)
  if (truncated)
    throw unusable(
      `Expected an answer of at most ${reading.answerBytes} bytes, got more: ask for less, or raise answerBytes.`,
      status,
    )
  if (body.length === 0) return { status: 'success', result: { status } }
  const kind = kindOf(answer)
  if (kind === 'file') return fileResult(answer, reading)
  const text = decode(answer, reading.redact)
  const value = kind === 'text' ? reading.redact(text) : parse(text, reading, status)
  const found = reading.isGraphql ? dataOf(value, status) : value
  return { status: 'success', result: selected(found, reading.select, status) }
}

/** Characters of a refusal that the model reads. */
const EXCERPT = 2_000

function statusError(answer: HttpAnswer, { redact }: Reading): ToolError {
  const { status, headers } = answer
  const reason = STATUS_CODES[status] ?? 'unknown status'
  const text = kindOf(answer) === 'file' ? '' : shownText(answer, redact).trim()
  const excerpt = text === '' ? '.' : `: ${text.slice(0, EXCERPT).replace(/\p{Surrogate}$/u, '')}`
  const pause = retryAfterOf({ 'retry-after': headers['retry-after'] })
  return new ToolError(`The service answered ${status} (${reason})${excerpt}`, {
    ...{ status, code: 'http_status' },
    ...(pause !== null && { retryAfter: pause / 1000 }),
  })
}

/**
 * The text of a refusal, without secrets. A secret is found in it as it was sent, so JSON is read first, because services escape more than they
 * must; bytes that are not of their character set are Latin-1, which is that of headers.
 */
function shownText(answer: HttpAnswer, redact: (text: string) => string): string {
  const text = tryDecode(answer) ?? answer.body.toString('latin1')
  try {
    return JSON.stringify(parseWithout(text, redact))
  } catch {
    return answer.truncated ? redact(text).slice(0, -LONGEST_SECRET) : redact(text)
  }
}

/** The beginning of a secret could be the end of an answer that was cut. No header takes a longer one. */
const LONGEST_SECRET = 8_192

/** The first of them that fits says what the content is. */
const KINDS: readonly (readonly [RegExp, 'json' | 'text'])[] = [
  [/^application\/(?:[\w.+-]+\+)?json$/, 'json'],
  [/^(?:text\/|application\/(?:[\w.+-]+\+)?(?:xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)$)/, 'text'],
]

function contentType({ headers }: Pick<HttpAnswer, 'headers'>): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/** Content without a type is a text if it is UTF-8. */
function kindOf(answer: HttpAnswer): 'json' | 'text' | 'file' {
  const type = contentType(answer)
  if (type === '') return isUtf8(answer.body) ? 'text' : 'file'
  return KINDS.find(([pattern]) => pattern.test(type))?.[1] ?? 'file'
}

function isUtf8(body: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body)
    return true
  } catch {
    return false
  }
}

function decode(answer: HttpAnswer, redact: (text: string) => string): string {
  const text = tryDecode(answer)
  if (text !== null) return text
  const charset = redact(charsetOf(answer)).slice(0, 100)
  throw unusable(
    `Expected an answer in the character set ${charset}, got bytes that are none of it.`,
    answer.status,
  )
}

function charsetOf({ headers }: HttpAnswer): string {
  return /;\s*charset="?([\w.:-]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
}

/** Null: its bytes are not of its character set, or that is unknown. */
function tryDecode(answer: HttpAnswer): string | null {
  try {
    return new TextDecoder(charsetOf(answer), { fatal: true }).decode(answer.body)
  } catch {
    return null
  }
}

function parse(text: string, { redact }: Reading, status: number): JsonValue {
  try {
    return parseWithout(text, redact)
  } catch {
    throw unusable(`Expected an answer in JSON, got ${JSON.stringify(redact(text).slice(0, 200))}.`, status)
  }
}

/** @throws for a text that is no JSON */
function parseWithout(text: string, redact: (text: string) => string): JsonValue {
  // Whatever parses is JSON.
  return JSON.parse(text, (_key, value: unknown) => withoutSecrets(value, redact)) as JsonValue
}

/** One value of JSON, whose inner values have none any more. */
function withoutSecrets(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (!isObject(value) || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), inner]))
}

/** GraphQL answers failures with 200. */
function dataOf(value: JsonValue, status: number): JsonValue {
  const { data, errors } = (typeof value === 'object' && value !== null ? value : {}) as {
    readonly data?: JsonValue
    readonly errors?: readonly { readonly message?: unknown }[]
  }
  if (Array.isArray(errors) && errors.length > 0) {
    const messages = errors.map((error) => String(error?.message ?? 'no message')).join('; ')
    throw new ToolError(`The service answered with errors: ${messages.slice(0, EXCERPT)}`, {
      ...{ category: 'invalid', code: 'graphql', status },
    })
  }
  if (data === undefined) throw unusable('Expected an answer of GraphQL with "data", got none.', status)
  return data
}

/** The part of a value. @throws ToolError where it has none */
export function selected(value: JsonValue, select: Select | undefined, status: number): JsonValue {
  if (select === undefined) return value
  const found = typeof select === 'function' ? select(value) : pointed(value, select)
  if (found === undefined)
    throw unusable(
      typeof select === 'function'
        ? 'Expected an answer in which "select" finds something, got another one.'
        : `Expected an answer with ${JSON.stringify(select)}, got one without.`,
      status,
    )
  return found
}

/** What is wrong with a JSON Pointer. */
export function pointerProblems(pointer: string): readonly string[] {
  return pointer === '' || pointer.startsWith('/')
    ? []
    : ['expected "select" to be a JSON Pointer that begins with "/"']
}

function pointed(value: JsonValue, pointer: string): JsonValue | undefined {
  let found: JsonValue | undefined = value
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Readonly<Record<string, JsonValue>>)[key]
  }
  return found
}

function fileResult(answer: HttpAnswer, { redact }: Reading): ToolResult {
  const { body, url, status } = answer
  // The bytes of files are stored as they are, so a file that has the secret is not stored.
  const texts = [body.toString('latin1'), body.toString('utf8')]
  if (texts.some((text) => redact(text) !== text))
    throw unusable('Expected a file without the credentials of the request, got one with them.', status)
  const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(contentType(answer))
    ? contentType(answer)
    : 'application/octet-stream'
  // A redirect could have led to an address with a secret.
  const last = redact(url.pathname.split('/').at(-1) ?? '')
  const name = last
    .replace(/(?:%[\da-f]{2}|[^\w.-])+/gi, '_')
    .replace(/^[._]+/, '')
    .slice(-100)
  return {
    status: 'success',
    result: `A file of ${body.length} bytes (${mimeType}).`,
    attachments: [{ name: name === '' ? 'answer' : name, mimeType, data: body }],
  }
}

function unusable(message: string, status: number): ToolError {
  return new ToolError(message, {
    category: 'permanent',
    code: 'unusable_answer',
    ...(status >= 400 && { status }),
  })
}

const CATEGORIES: Readonly<Record<EgressErrorCode, ToolErrorCategory>> = {
  url: 'invalid',
  address: 'permission',
  unresolved: 'transient',
  redirect: 'permission',
  timeout: 'timeout',
  refused: 'transient',
  connection: 'transient',
  answer: 'permanent',
}

/** An error of the request as one of the tool. A request that changes something may have done so before its connection broke. */
export function requestError(error: unknown, isRepeatable: boolean): unknown {
  if (!(error instanceof EgressError)) return error
  const isUncertain = error.code === 'connection' && !isRepeatable
  const category = isUncertain ? 'timeout' : CATEGORIES[error.code]
  return new ToolError(error.message, { category, code: `http_${error.code}` })
}
