import type { Message } from '../../protocol/message.js'
import { listMessages } from '../../store/read-messages.js'
import type { ListMessages } from '../../store/read-messages.js'
import type { Store } from '../../store/store.js'

/** What a call added, in its order: the injected ones end the transcript, the queued ones the queue. */
export interface AddedMessages {
  readonly injected: readonly Message[]
  readonly queued: readonly Message[]
}

type PageOptions = Omit<ListMessages, 'before' | 'after'>

/** The most that SQLite is asked for, so that `limit: Infinity` means all. */
const ALL = 1_000_000_000

/** The page that `listMessages` would answer if the messages that were added were stored. */
export async function listWithAdded(
  store: Store,
  options: PageOptions,
  added: AddedMessages,
): Promise<{ messages: Message[]; total: number; hasMore: boolean }> {
  const limit = count(options.limit ?? 100, 'limit')
  const offset = count(options.offset ?? 0, 'offset')
  const injected = added.injected.filter((message) => isVisible(message, options))
  const queued = added.queued.filter((message) => isVisible(message, options))
  if (injected.length + queued.length === 0) {
    const page = await store.read((db) => listMessages(db, { ...options, limit, offset }))
    return { ...page, messages: [...page.messages] }
  }
  // Any of the newest ones may be on the page, behind or before those that were added.
  const newest = { ...options, order: 'desc', offset: 0, limit: Math.min(ALL, offset + limit) } as const
  const stored = await store.read((db) => listMessages(db, newest))
  const waiting = stored.messages.filter((message) => message.position === null)
  const placed = stored.messages.filter((message) => message.position !== null)
  const all = [...queued.toReversed(), ...waiting, ...injected.toReversed(), ...placed]
  const page = all.slice(offset, offset + limit)
  return {
    messages: options.order === 'desc' ? page : page.toReversed(),
    total: stored.total + injected.length + queued.length,
    hasMore: stored.hasMore || all.length > offset + limit,
  }
}

function isVisible(message: Message, { includeSilent = false, maxDepth = 0 }: PageOptions): boolean {
  return (includeSilent || !message.silent) && message.depth <= maxDepth
}

function count(value: number, name: string): number {
  if (value === Number.POSITIVE_INFINITY) return ALL
  if (Number.isInteger(value) && value >= 0) return Math.min(ALL, value)
  throw new Error(`Expected ${name} of getMessages to be a whole number from 0, got ${String(value)}.`)
}
