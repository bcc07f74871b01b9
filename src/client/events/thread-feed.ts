import type { Store } from '../../store/store.js'
import { instruments } from '../../telemetry/instruments.js'
import { readEventPage } from './event-page.js'
import type { EventPage } from './event-page.js'

/** The subscribers of one thread, in one client: they share what they read. */
interface ThreadFeed {
  /** Grows with each change: asked before a read, and given to `changed` after it. */
  readonly version: number
  /** Who is at the same place as another gets the same page, without a read of its own. */
  read(after: FeedPosition): Promise<EventPage>
  /** Returns when there was a change since that version, or when the caller's patience is over. */
  changed(since: number, signal?: AbortSignal): Promise<void>
  leave(): void
}

interface FeedPosition {
  readonly sequence: number
  readonly delta: number
}

interface Shared extends ThreadFeed {
  join(): void
}

const feeds = new WeakMap<Store, Map<string, Shared>>()

/** The page at the end, which all wait behind, and what is being read: it is never more than a few MB. */
const KEPT_PAGES = 8

/** Joins the feed of a thread; the last who leaves ends it. @throws StoreError for a closed store */
export function joinFeed(store: Store, threadId: string): ThreadFeed {
  const ofStore = feeds.get(store) ?? new Map<string, Shared>()
  feeds.set(store, ofStore)
  const feed = ofStore.get(threadId) ?? createFeed(store, threadId, () => ofStore.delete(threadId))
  ofStore.set(threadId, feed)
  feed.join()
  return feed
}

function createFeed(store: Store, threadId: string, ended: () => void): Shared {
  const pages = new Map<string, Promise<EventPage>>()
  const waiting = new Set<() => void>()
  let version = 0
  let users = 0
  const end = store.watch(threadId, () => {
    version += 1
    // A read that began before the change may lack it.
    pages.clear()
    for (const wake of waiting) wake()
  })

  function read({ sequence, delta }: FeedPosition): Promise<EventPage> {
    const place = `${sequence}/${delta}`
    const known = pages.get(place)
    if (known !== undefined) return known
    const page = store.read((db) => readEventPage(db, { threadId, sequence, delta }))
    pages.set(place, page)
    const forget = (): boolean => pages.get(place) === page && pages.delete(place)
    // One that others follow serves who is far behind, and would stay while the thread is idle; after a failure the next
    // subscriber tries again.
    page.then(({ more }) => more && forget(), forget)
    for (const oldest of pages.keys()) {
      if (pages.size <= KEPT_PAGES) break
      pages.delete(oldest)
    }
    return page
  }

  return {
    join() {
      users += 1
      instruments().subscribers.add(1)
    },
    get version() {
      return version
    },
    read,
    async changed(since, signal) {
      if (version !== since || signal?.aborted === true) return
      let wake = (): void => undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        waiting.add(wake)
        signal?.addEventListener('abort', wake, { once: true })
      })
      waiting.delete(wake)
      signal?.removeEventListener('abort', wake)
    },
    leave() {
      users -= 1
      instruments().subscribers.add(-1)
      if (users > 0) return
      end()
      ended()
    },
  }
}
