/**
 * How requests are sent: with the token, and again where that is safe.
 *
 * It owns: the token and its renewal, repetitions, and that a refusal is thrown. It does not own: which routes there are (`api.ts`), and
 * streams that break off (`event-stream.ts`).
 * Invariants. H1: a request is repeated only where that is safe: the server says so by `Retry-After`, or nobody answered one that reads, or
 * that has a key. H2: a refused token is renewed once for a request. H3: repetitions and waits are bounded.
 */
import { HttpError } from './http-error.js'

/** Where the server is, and how it is called. */
export interface HttpClientOptions {
  /** The address of the server, with the path below which it is mounted. */
  readonly url: string | URL
  /**
   * A token of the server, or a function that gets one. The function is called before the first request, and again once the server
   * refuses its token, as at the end of a stream: what was under way goes on. Without a token, cookies of the same origin are sent.
   */
  readonly token?: string | (() => string | Promise<string>)
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>
  /** How often a request is repeated where that is safe. Streams of events connect again without a bound. @default 3 */
  readonly repeats?: number
  /** Milliseconds: if the server asks to wait longer, its refusal is thrown. @default 30,000 */
  readonly longestWait?: number
}

export interface Sending {
  /** Repeating it has no further effect. @default for GET and HEAD, and with an idempotency key */
  readonly isSafe?: boolean
  /** @default `repeats` of the client */
  readonly repeats?: number
}

/** Sends what `make` makes, for each trial anew. @throws HttpError; the reason of its signal */
export type Send = (make: () => Request, sending?: Sending) => Promise<Response>

const REPEATS = 3
const LONGEST_WAIT = 30_000
const FIRST_PAUSE = 250
const LONGEST_PAUSE = 5_000

export function createSend(options: HttpClientOptions): Send {
  const { fetch = (request) => globalThis.fetch(request), longestWait = LONGEST_WAIT } = options
  const tokens = createTokens(options.token)

  /** One trial; its answer is a success. */
  async function exchange(request: Request, token: string | undefined): Promise<Response> {
    for (const [name, value] of Object.entries(options.headers ?? {})) request.headers.set(name, value)
    if (token !== undefined) request.headers.set('Authorization', `Bearer ${token}`)
    request.signal.throwIfAborted()
    const response = await fetch(request).catch((cause: unknown) => {
      if (request.signal.aborted) throw cause
      throw new HttpError({
        ...{ status: 0, code: 'no_answer', cause },
        message: `Expected an answer of ${new URL(request.url).origin}, got none: it cannot be reached, or does not allow this page.`,
      })
    })
    if (response.ok) return response
    throw await readProblem(response)
  }

  return async (make, { isSafe, repeats = options.repeats ?? REPEATS } = {}) => {
    let hasRenewed = false
    for (let trial = 0; ;) {
      const request = make()
      const token = await tokens.get()
      try {
        return await exchange(request, token)
      } catch (error) {
        if (!HttpError.isInstance(error)) throw error
        if (error.status === 401 && tokens.canRenew && !hasRenewed) {
          hasRenewed = true
          tokens.forget(token)
          continue
        }
        const pause = pauseAfter(error, { trial, isSafe: isSafe ?? isRepeatable(request) })
        if (pause === null || trial >= repeats || pause > longestWait) throw error
        trial += 1
        await wait(pause, request.signal)
      }
    }
  }
}

function isRepeatable({ method, headers }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')
}

interface Trial {
  readonly trial: number
  readonly isSafe: boolean
}

/** Milliseconds until the request is sent again; null: it is not (H1). */
function pauseAfter({ status, code, retryAfter }: HttpError, { trial, isSafe }: Trial): number | null {
  const isBusy = status === 429 || status === 503
  if (isBusy && retryAfter !== null) return retryAfter * 1000
  // Of a proxy whose server is away: ours would have said what it thinks of a repetition.
  const isAway = status === 0 || (status >= 502 && status <= 504 && code === 'unknown')
  return isAway && isSafe ? Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** trial) : null
}

/** Of browsers only. */
const page = globalThis as object as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>

/**
 * A wait of a quarter more at most, so that clients that lost one server do not come back in one moment. It ends early when the browser is
 * online again. @throws the reason of the signal
 */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      page.removeEventListener?.('online', end)
      if (signal?.aborted === true) reject(signal.reason as Error)
      else resolve()
    }
    const timer = setTimeout(end, milliseconds * (1 + Math.random() / 4))
    signal?.addEventListener('abort', end)
    page.addEventListener?.('online', end)
    if (signal?.aborted === true) end()
  })
}

/** The body of a refusal, as the OpenAPI document has it. */
interface Problem {
  readonly code: string
  readonly message: string
  readonly requestId?: string
}

/** What an answer that is no success says; its body is read. */
async function readProblem(response: Response): Promise<HttpError> {
  const { status } = response
  const retryAfter = secondsOf(response.headers.get('retry-after'))
  const wait = retryAfter === null ? {} : { retryAfter }
  try {
    // The shape that the OpenAPI document promises; anything else is not of this API.
    const { error } = JSON.parse(await response.text()) as { readonly error: Problem }
    if (typeof error.code !== 'string' || typeof error.message !== 'string') throw new TypeError('no code')
    const { code, message, requestId } = error
    return new HttpError({ status, code, message, ...wait, ...(requestId !== undefined && { requestId }) })
  } catch (cause) {
    const message = `Expected an answer of the HTTP API of Everthread, got ${status} from ${response.url}: check the address.`
    return new HttpError({ status, code: 'unknown', message, ...wait, cause })
  }
}

/** Seconds, or a date. */
function secondsOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null
}

interface Tokens {
  readonly canRenew: boolean
  get(): Promise<string | undefined>
  /** The next `get` gets another one, unless somebody has renewed this one already. */
  forget(token: string | undefined): void
}

function createTokens(given: HttpClientOptions['token']): Tokens {
  if (typeof given !== 'function')
    return { canRenew: false, get: () => Promise.resolve(given), forget: () => undefined }
  let current: Promise<string> | undefined
  let known: string | undefined
  return {
    canRenew: true,
    get: async () => {
      current ??= Promise.resolve(given())
      const asked = current
      try {
        known = await asked
        return known
      } catch (error) {
        // The next request asks again.
        if (current === asked) current = undefined
        throw error
      }
    },
    forget: (token) => {
      if (token !== known) return
      known = undefined
      current = undefined
    },
  }
}

/** A key under which a command is carried out once. Unlike `crypto.randomUUID`, it needs no page with TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
