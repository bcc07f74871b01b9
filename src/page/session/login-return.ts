/**
 * The way back of a person who has logged in to a server of tools: the address of this page then has what the login gives.
 *
 * Owns: taking it out of the address, and the request that it answers. Does not own: the request itself (`requests/request-card.tsx`).
 * Invariants: what comes back is given in the name of the person who sees this page, and to the request whose state it repeats; a tab that
 * does not know the person, because the token is in another one, hands it to that one. It stays in no history.
 */
import { signal } from '@preact/signals'
import { access, client, problemText } from './api.js'

/** What became of a login that has led here; null: none has. */
export const returned = signal<string | null>(null)

type Given = Readonly<Record<string, string>>

const HANDED_OVER = 'The login is handed over…'

/** Tabs of this page tell each other of logins. */
const CHANNEL = 'everthread.logins'
/** Milliseconds for a tab that knows the person. */
const PATIENCE = 3_000

/** Where a person is asked to log in; null: an address that must not be opened. */
export function loginHost(url: string): string | null {
  const { protocol = '', hostname = '', host = '' } = URL.parse(url) ?? {}
  const isOwn = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isOwn) ? host : null
}

/** What a login has left in an address; null: nothing. */
export function readLogin(search: string): Given | null {
  const { code, state, error, iss } = Object.fromEntries(new URLSearchParams(search))
  if (state === undefined || (code === undefined && error === undefined)) return null
  return Object.fromEntries(
    Object.entries({ state, code, error, iss }).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, text]],
    ),
  )
}

/** Takes a login out of the address, and listens for those of other tabs. Call it once. */
export function takeLoginOfAddress(): void {
  const channel = new BroadcastChannel(CHANNEL)
  const given = readLogin(location.search)
  if (given === null) {
    channel.addEventListener('message', ({ data }: MessageEvent<{ readonly given?: Given }>) => {
      if (data.given === undefined || access.value !== 'open') return
      const { state } = data.given
      void giveAnswer(data.given).then((said) => channel.postMessage({ taken: state, said }))
    })
    return
  }
  history.replaceState(null, '', `${location.pathname}#/`)
  returned.value = HANDED_OVER
  channel.addEventListener(
    'message',
    ({ data }: MessageEvent<{ readonly taken?: string; said?: string }>) => {
      if (data.taken === given['state']) returned.value = data.said ?? ''
    },
  )
  channel.postMessage({ given })
  setTimeout(() => {
    if (returned.value !== HANDED_OVER) return
    // Without a token the person is asked for it first.
    if (access.value !== 'open') returned.value = null
    const stop = access.subscribe((now) => {
      if (now !== 'open') return
      queueMicrotask(() => stop())
      void giveAnswer(given).then((said) => (returned.value = said))
    })
  }, PATIENCE)
}

/** Answers the request whose state the login repeats. Returns what to say. */
async function giveAnswer(given: Given): Promise<string> {
  try {
    for await (const request of client.threads.pending()) {
      if (
        request.kind !== 'call' ||
        request.connect === undefined ||
        request.connect.state !== given['state']
      )
        continue
      const answer = { result: { status: 'success', result: given } } as const
      await client.threads.get(request.threadId).respond(request.id, answer)
      return given['error'] === undefined
        ? `You are logged in to ${request.connect.server}. This tab can be closed.`
        : `You did not log in to ${request.connect.server}. This tab can be closed.`
    }
    return 'Nothing waits for this login any more. This tab can be closed.'
  } catch (error) {
    return `The login was not taken: ${problemText(error)}`
  }
}
