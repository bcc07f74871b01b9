/**
 * A whole exchange with a service that somebody else runs: a request, the redirects that it may follow, and an answer that is unpacked.
 *
 * Owns: which redirects are followed and what goes along, and compressed answers. Does not own: one request with its checks
 * (`guarded-request.ts`), and what an answer means.
 * Invariants: every hop is checked as the first request is (X1); what is secret goes to the origin of the URL only (X2); no hop leads from
 * https to http (X3); an answer is as long as it may be also when it is unpacked (X4); one limit of time is for all of it (X5).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { checkUrl, EgressError, guardedRequest } from './guarded-request.js'
import type { GuardedRequest } from './guarded-request.js'

export interface Exchange extends GuardedRequest {
  /** Headers for the origin of the URL only. */
  readonly secretHeaders?: Readonly<Record<string, string>>
  /** Names of hosts that redirects may lead to beside that of the URL. */
  readonly redirectHosts?: readonly string[]
}

type GuardedAnswer = Awaited<ReturnType<typeof guardedRequest>>

interface ExchangeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Unpacked. */
  readonly body: Buffer
  /** True: it is longer than it may be; `body` is a part of it, or nothing where it was compressed. */
  readonly truncated: boolean
  /** Where it came from, behind all redirects. */
  readonly url: URL
}

const MOST_REDIRECTS = 5

/** Makes the request, and follows its redirects. @throws EgressError; the reason of `signal` */
export async function exchange({
  secretHeaders = {},
  redirectHosts = [],
  ...given
}: Exchange): Promise<ExchangeAnswer> {
  const { url: address, method: asked, body: sent, headers: all = {}, timeout, ...bounds } = given
  const deadline = performance.now() + timeout
  const first = checkUrl(address, bounds.exceptions)
  const hosts = new Set([first.hostname, ...redirectHosts.map((host) => host.toLowerCase())])
  let hop: Hop = { url: first, method: asked, body: sent, headers: all }
  for (let hops = 0; ; hops += 1) {
    const { url, method, body, headers } = hop
    const own = url.origin === first.origin ? secretHeaders : {}
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const answer = await guardedRequest({
      ...bounds,
      ...{ url: url.href, method, timeout: Math.max(1, Math.ceil(deadline - performance.now())) },
      headers: { 'accept-encoding': 'gzip, deflate, br', ...headers, ...length, ...own },
      ...(body !== undefined && { body }),
    })
    const next = nextHop(hop, answer)
    if (next === null) return { ...(await unpack(answer, bounds.answerBytes, url)), url }
    if (hops === MOST_REDIRECTS) throw tooMany(url)
    assertMayFollow(url, next.url, hosts)
    hop = next
  }
}

interface Hop {
  readonly url: URL
  readonly method: GuardedRequest['method']
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Statuses of redirects; those behind which a request becomes a GET, as browsers do it. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const AS_GET: ReadonlySet<number> = new Set([301, 302, 303])

/** Where an answer leads; null: nowhere. */
function nextHop(
  { url, method, body, headers }: Hop,
  { status, headers: answered }: GuardedAnswer,
): Hop | null {
  const { location } = answered
  if (!REDIRECTS.has(status) || location === undefined) return null
  const next = URL.parse(location, url.href)
  if (next === null)
    throw new EgressError('redirect', `Expected a URL where "${url.host}" redirects to, got another text.`)
  next.hash = ''
  const isGet = AS_GET.has(status) && (status === 303 || method === 'POST')
  if (!isGet) return { url: next, method, body, headers }
  const kept = Object.entries(headers).filter(([name]) => !/^content-/i.test(name))
  return { url: next, method: 'GET', body: undefined, headers: Object.fromEntries(kept) }
}

function assertMayFollow(from: URL, to: URL, hosts: ReadonlySet<string>): void {
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw new EgressError(
      'redirect',
      `Expected "${from.host}" to redirect to https, got "${to.protocol.slice(0, -1)}".`,
    )
  if (hosts.has(to.hostname)) return
  throw new EgressError(
    'redirect',
    `Expected "${from.host}" to redirect to a host that is allowed (redirectHosts), got "${to.host}".`,
  )
}

function tooMany({ host }: URL): EgressError {
  return new EgressError(
    'redirect',
    `Expected an answer of "${host}" after at most ${MOST_REDIRECTS} redirects, got another one.`,
  )
}

type Unpack = (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

/** By the name of a content coding. */
const CODINGS: ReadonlyMap<string, Unpack> = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
])

/** More of them are a bomb, or a mistake. */
const MOST_CODINGS = 2

/** X4: unpacking ends at the bound. */
async function unpack(
  { status, headers, body, truncated }: GuardedAnswer,
  most: number,
  { host }: URL,
): Promise<GuardedAnswer> {
  const codings = (headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0 || body.length === 0) return { status, headers, body, truncated }
  const known = codings.flatMap((coding) => CODINGS.get(coding) ?? [])
  if (known.length < codings.length || codings.length > MOST_CODINGS)
    throw new EgressError(
      'answer',
      `Expected an answer of "${host}" in gzip, deflate or br, got ${JSON.stringify(codings.join(', ').slice(0, 100))}.`,
    )
  const nothing = { status, headers, body: Buffer.alloc(0), truncated: true }
  if (truncated) return nothing
  let unpacked = body
  try {
    for (const one of known.toReversed()) unpacked = await one(unpacked, { maxOutputLength: most })
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      return nothing
    throw new EgressError(
      'answer',
      `Expected an answer of "${host}" in ${codings.join(', ')}, got bytes that are none.`,
    )
  }
  return { status, headers, body: unpacked, truncated: false }
}
