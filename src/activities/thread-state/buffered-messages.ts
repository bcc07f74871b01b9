/**
 * The uncommitted message changes of one call, and pages of the thread's messages that include them.
 *
 * Invariant: a page equals the page that the store would return if the call were committed now.
 */
import type { Message } from '../../protocol/message.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { listMessages } from '../../store/messages/transcript.js'
import type { ListMessages } from '../../store/messages/transcript.js'
import type { Store } from '../../store/store.js'
import { boundedId } from './journal.js'

/** A stored message that the call changed; `current` is null if the call deleted it. */
interface ChangedMessage {
  readonly original: Message
  readonly current: Message | null
}

/** The messages that a call has added and changed. */
interface BufferedMessages {
  /** Returns the same ids in each attempt, so that a tool may pass them on. */
  nextId(): string
  add(kind: 'injected' | 'queued', message: NewMessage): void
  /** Finds a message that the call added and has not deleted. */
  findAdded(id: string): NewMessage | undefined
  replace(message: NewMessage): void
  drop(id: string): void
  change(changed: ChangedMessage): void
  /** Null if the call deleted the message, undefined if the call did not touch it. */
  find(id: string): Message | null | undefined
  countQueued(): number
  /** @throws an error for options that are none */
  page(options: PageOptions): Promise<{ messages: Message[]; total: number; hasMore: boolean }>
}

type PageOptions = Omit<ListMessages, 'threadId' | 'before' | 'after'>

/** Added messages in their order: the injected ones follow the transcript, the queued ones follow the queue. */
interface BufferedView {
  readonly injected: readonly Message[]
  readonly queued: readonly Message[]
  readonly changed: readonly ChangedMessage[]
}

interface Added {
  readonly kind: 'injected' | 'queued'
  readonly message: NewMessage
}

interface BufferedMessagesOptions {
  readonly store: Store
  readonly threadId: string
  readonly originId: string
}

export function createBufferedMessages(options: BufferedMessagesOptions): BufferedMessages {
  const { store, threadId, originId } = options
  const added = new Map<string, Added>()
  const changed = new Map<string, ChangedMessage>()
  let made = 0

  function ofKind(kind: Added['kind']): readonly Message[] {
    return [...added.values()].flatMap((one) => (one.kind === kind ? [messageOfDraft(one.message)] : []))
  }

  return {
    nextId: () => boundedId(`${threadId}:${originId}:${made++}`),
    add: (kind, message) => void added.set(message.id, { kind, message }),
    findAdded: (id) => added.get(id)?.message,
    replace(message) {
      const known = added.get(message.id)
      if (known !== undefined) added.set(message.id, { ...known, message })
    },
    drop: (id) => void added.delete(id),
    change(change) {
      const { id } = change.original
      changed.set(id, { original: changed.get(id)?.original ?? change.original, current: change.current })
    },
    find(id) {
      const message = added.get(id)?.message
      return message === undefined ? changed.get(id)?.current : messageOfDraft(message)
    },
    countQueued: () => ofKind('queued').length,
    page: (page) =>
      listWithBuffered(
        store,
        { ...page, threadId },
        { injected: ofKind('injected'), queued: ofKind('queued'), changed: [...changed.values()] },
      ),
  }
}

/** The highest limit that is passed to SQLite; `limit: Infinity` means all. */
const ALL = 1_000_000_000

/** Returns the page that `listMessages` would return if the call's changes were stored. */
async function listWithBuffered(
  store: Store,
  given: PageOptions & Pick<ListMessages, 'threadId'>,
  { injected, queued, changed }: BufferedView,
): Promise<{ messages: Message[]; total: number; hasMore: boolean }> {
  const options = { ...given, order: parseOrder(given.order) }
  const limit = count(options.limit ?? 100, 'limit')
  const offset = count(options.offset ?? 0, 'offset')
  const selectVisible = (messages: readonly (Message | null)[]): Message[] =>
    messages.filter((message) => message !== null).filter((message) => isVisible(message, options))
  const added = { injected: selectVisible(injected), queued: selectVisible(queued) }
  const before = selectVisible(changed.map(({ original }) => original))
  const after = selectVisible(changed.map(({ current }) => current))
  if (added.injected.length + added.queued.length + before.length + after.length === 0) {
    const page = await store.read((db) => listMessages(db, { ...options, limit, offset }))
    return { ...page, messages: [...page.messages] }
  }
  // Besides the added messages the page may hold any of the newest stored ones, and a change may have removed some of them.
  const wanted = Math.min(ALL, offset + limit + before.length)
  const newest = { ...options, order: 'desc', offset: 0, limit: wanted } as const
  const stored = await store.read((db) => listMessages(db, newest))
  const current = merge(stored.messages, changed, after)
  const waiting = current.filter((message) => message.position === null)
  const placed = current.filter((message) => message.position !== null)
  const all = [...added.queued.toReversed(), ...waiting, ...added.injected.toReversed(), ...placed]
  const page = all.slice(offset, offset + limit)
  const more = added.injected.length + added.queued.length + after.length - before.length
  return {
    messages: options.order === 'desc' ? page : page.toReversed(),
    total: stored.total + more,
    hasMore: stored.hasMore || all.length > offset + limit,
  }
}

/** Applies the call's changes to the stored messages; newest first. */
function merge(
  stored: readonly Message[],
  changed: BufferedView['changed'],
  after: readonly Message[],
): readonly Message[] {
  if (changed.length === 0) return stored
  const ids = new Set(changed.map(({ original }) => original.id))
  const kept = stored.filter(({ id }) => !ids.has(id))
  const all = [...kept, ...after]
  // Messages without a position are ordered by their times.
  return [
    ...all
      .filter(({ position }) => position === null)
      .toSorted((one, other) => other.created_at - one.created_at),
    ...all
      .filter(({ position }) => position !== null)
      .toSorted((one, other) => placeOf(other) - placeOf(one)),
  ]
}

function placeOf({ position }: Message): number {
  return position ?? 0
}

function isVisible(message: Message, { includeSilent = false, maxDepth = 0 }: PageOptions): boolean {
  return (includeSilent || !message.silent) && message.depth <= maxDepth
}

/** Ignores letter case: an unrecognized order would return the wrong end of the transcript. */
function parseOrder(order: unknown = 'asc'): 'asc' | 'desc' {
  const known = typeof order === 'string' ? order.toLowerCase() : order
  if (known === 'asc' || known === 'desc') return known
  throw new Error(`Expected order of getMessages to be "asc" or "desc", got ${String(order)}.`)
}

function count(value: number, name: string): number {
  if (value === Number.POSITIVE_INFINITY) return ALL
  if (Number.isInteger(value) && value >= 0) return Math.min(ALL, value)
  throw new Error(`Expected ${name} of getMessages to be a whole number from 0, got ${String(value)}.`)
}
