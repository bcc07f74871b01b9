/** The hook of `everthread/react`: a thread of the HTTP API as the state of a component. */
import { useMemo, useRef, useSyncExternalStore } from 'react'

import { createHttpClient, createThreadStore } from '../http/index.js'
import type { HttpClient, HttpClientOptions, ThreadState, ThreadStore } from '../http/index.js'

export type UseThread = { readonly threadId: string } & (
  | { readonly client: HttpClient }
  | Pick<HttpClientOptions, 'url' | 'token'>
)

/** The state of the thread, and what can be done with it. */
export type UsedThread = ThreadState & Omit<ThreadStore, 'getState' | 'subscribe'>

/**
 * Shows a thread and keeps it current while the component is there; another `threadId`, `client` or `url` opens another one. A `token` that
 * is a function may be a new one at each render: the newest is called.
 */
export function useThread(options: UseThread): UsedThread {
  const { threadId } = options
  const client = useClient(options)
  const store = useMemo(() => createThreadStore({ client, threadId }), [client, threadId])
  const state = useSyncExternalStore(store.subscribe, store.getState, store.getState)
  return useMemo(() => ({ ...store, ...state }), [store, state])
}

function useClient(options: UseThread): HttpClient {
  const given = 'client' in options ? options.client : undefined
  const { url, token } = 'client' in options ? { url: '', token: undefined } : options
  const newest = useRef(token)
  newest.current = token
  const address = String(url)
  return useMemo(() => given ?? createHttpClient(optionsOf(address, newest)), [given, address])
}

function optionsOf(url: string, newest: { readonly current: HttpClientOptions['token'] }): HttpClientOptions {
  if (newest.current === undefined) return { url }
  // A text may change, too: it is asked for again when it is refused.
  const token = (): string | Promise<string> => {
    const { current = '' } = newest
    return typeof current === 'function' ? current() : current
  }
  return { url, token }
}
