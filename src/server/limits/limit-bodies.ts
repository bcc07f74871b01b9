import { isUtf8 } from 'node:buffer'
import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { ProblemError } from '../error-response.js'
import type { ServerContext, ServerEnv, ThreadContext } from '../server-context.js'

/** A request that carries a few words at most. */
const SMALL_REQUEST_BYTES = 16 * 1024

/** Routes of a thread that take a few words at most. */
const SMALL = /^(?:stop|continue|terminate|messages\/[^/]+\/cancel|queue\/[^/]+\/promote)$/

/** Files are counted while they stream. */
const STREAMED = 'files/content'

/** Its clients send the whole conversation each time, of which the last words are taken. */
const CONVERSATION = /^(?:\/ag-ui\/[^/]+|\/threads\/[^/]+\/ag-ui)$/

/** As many requests of the usual size. */
const CONVERSATION_SIZE = 8

/** A user's own routes, which may take bodies of any form. */
const OWN = 'api/'

/**
 * Refuses bodies that no route can take, and names the reason: with 413 a body that is longer than its route takes, without
 * reading the rest; with 400 JSON that is not in UTF-8 or is nested too deep.
 */
export function limitBodies({
  requestBytes,
}: Pick<ServerContext, 'requestBytes'>): MiddlewareHandler<ServerEnv> {
  const small = limit(SMALL_REQUEST_BYTES)
  const usual = limit(requestBytes)
  const long = limit(CONVERSATION_SIZE * requestBytes)
  return (context, next) => {
    const [, behind = ''] = /\/threads\/[^/]+\/(.*)$/.exec(context.req.path) ?? []
    if (behind === STREAMED) return next()
    const checked = behind.startsWith(OWN) ? next : () => checkJson(context).then(next)
    if (CONVERSATION.test(context.req.path)) return long(context, checked)
    return SMALL.test(behind) ? small(context, checked) : usual(context, checked)
  }
}

/** Levels of lists and objects: from about 4,500 on `JSON.stringify` overflows the stack. */
const JSON_DEPTH = 4000

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i

/** Runs before the parser, which takes any depth (the store does not) and silently replaces bytes that are no UTF-8. */
async function checkJson({ req }: ThreadContext): Promise<void> {
  const type = req.header('content-type') ?? ''
  if (req.raw.body === null || !JSON_TYPE.test(type)) return
  const [, charset = 'utf-8'] = CHARSET.exec(type) ?? []
  const expected = 'Expected a body of JSON in UTF-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset))
    throw badBody(`${expected}, got the charset ${charset.slice(0, 40)}: encode it as UTF-8.`)
  // The request keeps the bytes, so its parser does not read the body again.
  const bytes = new Uint8Array(await req.arrayBuffer())
  // JSON contains zero bytes in UTF-16 and UTF-32 only.
  if (bytes.subarray(0, 4).includes(0) || isUtf16(bytes))
    throw badBody(`${expected}, got UTF-16 or UTF-32: encode it as UTF-8.`)
  if (!isUtf8(bytes)) throw badBody(`${expected}, got other bytes: encode it as UTF-8.`)
  if (depthOf(bytes) > JSON_DEPTH)
    throw badBody(
      `Expected JSON that is nested at most ${JSON_DEPTH} deep, got a body that is nested deeper: flatten it, or send it as a text or file.`,
    )
}

function badBody(message: string): ProblemError {
  return new ProblemError(400, 'bad_request', message)
}

/** Looks at the byte order mark. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

const [QUOTE, ESCAPE] = [0x22, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** The depth of the lists and objects in a JSON text. */
function depthOf(bytes: Uint8Array): number {
  let [depth, deepest, inText] = [0, 0, false]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) inText = !inText
    else if (inText) at += byte === ESCAPE ? 1 : 0
    else if (OPENING.has(byte)) deepest = Math.max(deepest, ++depth)
    else if (CLOSING.has(byte)) depth--
  }
  return deepest
}

function limit(maxSize: number): MiddlewareHandler<ServerEnv> {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new ProblemError(
        413,
        'too_large',
        `Expected a body of at most ${maxSize} bytes, got a larger one.`,
      )
    },
  })
}
