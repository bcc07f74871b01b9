/**
 * The HTTP API, as a person's browser calls it: public routes only, with the person's token.
 *
 * Owns: the token, and whether the server answers and knows the person. Does not own: requests and streams (`everthread/http`), and
 * messages that wait for a connection (`outbox.ts`). The token stays in this tab (`sessionStorage`), and in no address.
 */
import { signal } from '@preact/signals'
import { createHttpClient, HttpError } from '../../http/index.js'

/** Where the server is: the script is below its `/page/`, also where the server is mounted below a path. */
const BASE = new URL('../', import.meta.url)

const TOKEN = 'everthread.token'

/** `unknown` until the first answer; `open`: the server knows the caller. */
export const access = signal<'unknown' | 'open' | 'refused'>('unknown')

/** Whether the last request had an answer of the server. */
export const isOnline = signal(true)

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
async function fetchAsPerson(request: Request): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN)
  if (token !== null) request.headers.set('Authorization', `Bearer ${token}`)
  try {
    const response = await fetch(request)
    isOnline.value = true
    if (response.status === 401) forgetToken()
    return response
  } catch (error) {
    if (!request.signal.aborted) isOnline.value = false
    throw error
  }
}

/** The person sees at once that nobody answers: what is to be repeated is repeated where it is asked for. */
export const client = createHttpClient({ url: BASE, fetch: fetchAsPerson, repeats: 0 })

/** Finds out whether the server knows the caller. */
export async function checkAccess(): Promise<void> {
  try {
    await client.api.get('/agents')
    access.value = 'open'
  } catch (error) {
    // Any other failure shows itself in what follows.
    if (access.value !== 'refused') access.value = 'open'
    if (!HttpError.isInstance(error)) throw error
  }
}
