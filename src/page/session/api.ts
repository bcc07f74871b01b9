/**
 * The HTTP API, as a person's browser calls it: public routes only, with the person's token.
 *
 * Owns: the token, what a request is, and what a failure says. Does not own: streams of events (`event-stream.ts`) and messages
 * that wait for a connection (`outbox.ts`). The token stays in this tab (`sessionStorage`), and in no address.
 */
import { signal } from '@preact/signals'

/** Where the server is: the script is below its `/page/`, also where the server is mounted below a path. */
const BASE = new URL('../', import.meta.url)

const TOKEN = 'everthread.token'

/** `unknown` until the first answer; `open`: the server knows the caller. */
export const access = signal<'unknown' | 'open' | 'refused'>('unknown')

/** Whether the last request had an answer of the server. */
export const isOnline = signal(true)

/** A request that was refused or had no answer. Its message is for the person. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** 0: there was no answer. */
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** True for a request that may succeed later, unchanged. */
export function mayPass(error: unknown): boolean {
  return error instanceof RequestError && (error.status === 0 || error.status === 429 || error.status >= 500)
}

/** What to say of a failure. */
export function problemText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Takes the token of `#token=…` out of the address, so that it is in no history and no bookmark. A link changes no login that this
 * tab has: it may be of somebody who wants a person to work in a foreign account. True if it is taken.
 */
export function takeTokenOfAddress(): boolean {
  const [isThere = '', token = ''] = /^#token=([\w.~+/=-]*)/.exec(location.hash) ?? []
  if (isThere === '') return false
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  if (token === '' || sessionStorage.getItem(TOKEN) !== null) return false
  setToken(token)
  return true
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token.trim())
}

function forgetToken(): void {
  sessionStorage.removeItem(TOKEN)
  access.value = 'refused'
}

/** Without a token the request has the cookies of the person, which a service with a login of its own may know. */
export function authorization(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(TOKEN)
  return token === null ? {} : { Authorization: `Bearer ${token}` }
}

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly file?: Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** The address of a route; `path` begins with a slash. */
export function addressOf(path: string): string {
  return new URL(path.slice(1), BASE).href
}

/** Sends a request. @throws RequestError */
export async function send(path: string, call: Call = {}): Promise<Response> {
  const response = await fetchAnswer(path, call)
  if (response.status === 401) {
    forgetToken()
    throw await readProblem(response)
  }
  if (!response.ok) throw await readProblem(response)
  return response
}

/** Sends a request and reads its answer, which has the shape that the OpenAPI document promises. @throws RequestError */
export async function request<Answer>(path: string, call: Call = {}): Promise<Answer> {
  const response = await send(path, call)
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}

async function fetchAnswer(path: string, { method, body, file, headers, signal: stop }: Call) {
  try {
    const response = await fetch(addressOf(path), {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...authorization(),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(file !== undefined && { body: file }),
      ...(stop !== undefined && { signal: stop }),
    })
    isOnline.value = true
    return response
  } catch (error) {
    if (stop?.aborted === true) throw error
    isOnline.value = false
    throw new RequestError(0, 'offline', 'Expected an answer of the server, got none: it is tried again.')
  }
}

async function readProblem(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => '')
  try {
    const { error } = JSON.parse(text) as {
      readonly error: { readonly code: string; readonly message: string }
    }
    return new RequestError(response.status, error.code, error.message)
  } catch {
    return new RequestError(
      response.status,
      'unknown',
      `Expected an answer of the API, got ${response.status}.`,
    )
  }
}

/** Finds out whether the server knows the caller. */
export async function checkAccess(): Promise<void> {
  try {
    await request('/agents')
    access.value = 'open'
  } catch (error) {
    // Any other failure shows itself in what follows.
    if (access.value !== 'refused') access.value = 'open'
    if (!(error instanceof RequestError)) throw error
  }
}

/** The query of an address; what is undefined is left out. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** The path of a thread's route; `rest` begins with a slash or is empty. */
export function threadPath(threadId: string, rest = ''): string {
  return `/threads/${encodeURIComponent(threadId)}${rest}`
}
