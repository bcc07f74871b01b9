/**
 * One HTTP request to an address that somebody else has chosen, such as the receiver of a webhook.
 *
 * Owns: the check of the URL, of each address that its name stands for, and the bounds of time and size. Does not own: when to
 * try again, and what an answer means.
 * Invariants: the connection goes to an address that was checked (E1); a redirect is an answer, and is not followed (E2); no more
 * of an answer is read than was asked for (E3); what cannot be checked is refused (E4).
 */
import { lookup as lookupName } from 'node:dns'
import type { LookupAddress } from 'node:dns'
import { request as requestHttp } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { isReachable, NO_EXCEPTIONS } from './addresses.js'
import type { EgressExceptions } from './addresses.js'

/**
 * `url`: the URL itself is refused. `address`: its host has an address that must not be reached. `unresolved`: its name has none.
 * `redirect`: it led where the request may not go, or too often. `timeout`: there was no whole answer in time. `refused`: nothing listens
 * there, so nothing was sent. `connection`: it broke. `answer`: it cannot be unpacked.
 */
export type EgressErrorCode =
  | 'url'
  | 'address'
  | 'unresolved'
  | 'redirect'
  | 'timeout'
  | 'refused'
  | 'connection'
  | 'answer'

/** Why a request was refused, or had no answer. Its message is for whoever named the URL, and shows no address. */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code: EgressErrorCode

  constructor(code: EgressErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** The length of a URL, in characters: what proxies and servers accept. */
const LONGEST_URL = 2_000

const ALLOWED_BY = '(egress.allow of a client, allow of an HTTP tool, EVERTHREAD_EGRESS_ALLOW)'

/**
 * Checks a URL before anything is resolved: https, or http to an exception; no user and password in it; a host that may be
 * reached, if it is an address. The names of hosts are checked when the request is made, each time.
 * @throws EgressError `url`, `address`
 */
export function checkUrl(text: string, exceptions: EgressExceptions = NO_EXCEPTIONS): URL {
  const url = text.length > LONGEST_URL ? null : URL.parse(text)
  if (url === null)
    throw new EgressError(
      'url',
      `Expected an https URL of at most ${LONGEST_URL} characters, got ${text.length > LONGEST_URL ? `one of ${text.length}` : 'another text'}.`,
    )
  const host = hostOf(url)
  const address = isIP(host) !== 0
  const isException =
    exceptions.hosts.has(host) ||
    (address && exceptions.networks.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'))
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isException))
    throw new EgressError(
      'url',
      `Expected an https URL, got one of "${url.protocol.slice(0, -1)}": http goes to hosts that the operator allows ${ALLOWED_BY}.`,
    )
  if (url.username !== '' || url.password !== '')
    throw new EgressError('url', 'Expected a URL without a user and password, got one that has them.')
  if (address && !isException && !isReachable(host, exceptions)) throw unreachable(host)
  return url
}

/** What is wrong with a value that is to be such a URL, as a sentence; undefined if nothing is. */
export function urlProblem(url: unknown, exceptions: EgressExceptions): string | undefined {
  if (typeof url !== 'string') return `Expected "url" to be a text, got ${typeof url}.`
  try {
    checkUrl(url, exceptions)
    return undefined
  } catch (error) {
    if (error instanceof EgressError) return `url: ${error.message}`
    throw error
  }
}

/** The host, without the brackets of an IPv6 address and without the dot at the end of a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '')
}

function unreachable(host: string): EgressError {
  return new EgressError(
    'address',
    `Expected "${host}" to be on the public internet, got an address of a private or special network: name another host, ` +
      `or let the operator allow it ${ALLOWED_BY}.`,
  )
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

const resolveAll: Resolve = (hostname) => promisify(lookupName)(hostname, { all: true })

export interface GuardedRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Milliseconds until the whole answer has come, from the look-up of the name on. */
  readonly timeout: number
  /** The most that is read of an answer. */
  readonly answerBytes: number
  readonly exceptions?: EgressExceptions
  /** Ends the request. */
  readonly signal?: AbortSignal
  /** @default that of the system */
  readonly resolve?: Resolve
}

/** An answer of any status. */
interface GuardedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** True: there was more, and it was not read. */
  readonly truncated: boolean
}

/** Makes one request, on a connection of its own. @throws EgressError; the reason of `signal` */
export async function guardedRequest(given: GuardedRequest): Promise<GuardedAnswer> {
  const { method, headers = {}, body, timeout, answerBytes, signal } = given
  const url = checkUrl(given.url, given.exceptions)
  const late = AbortSignal.timeout(timeout)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  try {
    return await new Promise((resolve, reject) => {
      const sent = send(url, {
        ...{ method, headers, agent: false, lookup: checkedLookup(given) },
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      })
      sent.on('error', reject)
      // Without a listener Node ends the connection, and tells nobody.
      sent.on('upgrade', (_answer, socket) => {
        socket.destroy()
        reject(new Error('the receiver wants another protocol'))
      })
      sent.on('response', (answer) => void readAnswer(answer, answerBytes).then(resolve, reject))
      sent.end(body)
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw late.aborted ? tooLate(url, timeout) : asEgressError(error, url)
  }
}

/** E1: what it returns is what the connection goes to, so no later answer of a name server counts. */
function checkedLookup({ exceptions = NO_EXCEPTIONS, resolve = resolveAll }: GuardedRequest): LookupFunction {
  return (hostname, { all }, callback) => {
    const host = hostname.toLowerCase().replace(/\.$/, '')
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        const refused = exceptions.hosts.has(host)
          ? undefined
          : addresses.find(({ address }) => !isReachable(address, exceptions))
        if (refused !== undefined) callback(unreachable(host), [])
        else if (first === undefined) callback(unresolved(host), [])
        else if (all === true) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(unresolved(host, error), []),
    )
  }
}

function unresolved(host: string, cause?: unknown): EgressError {
  return new EgressError('unresolved', `Expected "${host}" to have an address, got none.`, cause)
}

function readAnswer(answer: IncomingMessage, most: number): Promise<GuardedAnswer> {
  const { statusCode: status = 0, headers } = answer
  const parts: Buffer[] = []
  let left = most
  return new Promise((resolve, reject) => {
    const finish = (truncated: boolean): void =>
      resolve({ status, headers, body: Buffer.concat(parts), truncated })
    answer.on('data', (part: Buffer) => {
      parts.push(part.subarray(0, left))
      left -= part.length
      if (left >= 0) return
      finish(true)
      answer.destroy()
    })
    answer.on('end', () => finish(false))
    answer.on('error', reject)
  })
}

function tooLate(url: URL, timeout: number): EgressError {
  return new EgressError(
    'timeout',
    `Expected the whole answer of "${url.host}" within ${timeout / 1000} s, got none.`,
  )
}

/** With these there was no connection. */
const UNSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Only a code of the system is shown: the text of such an error has addresses. */
function asEgressError(error: unknown, url: URL): unknown {
  if (error instanceof EgressError || !(error instanceof Error)) return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'no answer'
  const kind = UNSENT.has(code) ? 'refused' : 'connection'
  return new EgressError(kind, `Expected an answer of "${url.host}", got ${code}.`, error)
}
