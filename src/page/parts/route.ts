/** Which view the address names: `#/`, `#/new`, `#/threads/<id>`. The server sees none of it. */
import { signal } from '@preact/signals'

export type Route =
  | { readonly name: 'home' }
  | { readonly name: 'new' }
  | { readonly name: 'thread'; readonly threadId: string }

export const route = signal<Route>({ name: 'home' })

export function readRoute(hash: string): Route {
  const [, id] = /^#\/threads\/(.+)$/.exec(hash) ?? []
  if (id !== undefined) return { name: 'thread', threadId: decode(id) }
  return hash === '#/new' ? { name: 'new' } : { name: 'home' }
}

/** An address that somebody mistyped names a thread that does not exist, which the page then says. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function threadAddress(threadId: string): string {
  return `#/threads/${encodeURIComponent(threadId)}`
}

export function goTo(address: string): void {
  location.hash = address
}
