/**
 * What waits for a thread: each item with its source and the way in which it will be delivered.
 *
 * Owns: the queue as one answer. Does not own: its order, which is that of the snapshot.
 */
import type { Delivery } from '../../protocol/messages.js'
import type { QueuedItem } from '../../protocol/status.js'
import { LIMITS } from '../../protocol/limits.js'
import type { MessageSender } from '../../store/messages/message-row.js'
import { listQueuedMessages } from '../../store/messages/queue.js'
import type { QueuedMessage } from '../../store/messages/queue.js'
import type { ClientContext } from '../client-context.js'
import { checkLimit } from '../lists/list-threads.js'
import { readSnapshot } from '../read-snapshot.js'
import type { ThreadSnapshot } from '../read-snapshot.js'

/** An item that waits. */
export interface QueueEntry extends QueuedItem {
  /** Its place, from 1. */
  readonly place: number
  /** The first 100 characters of a message, or of a name with its arguments. */
  readonly preview?: string
  /** Who sent it; `unknown` if the store has no row of it. */
  readonly source: MessageSender | 'unknown'
  /** How it enters a thread that works, as `send` has it. */
  readonly deliver: Delivery
}

/** The queue of a thread at one moment. */
export interface ThreadQueue {
  readonly threadId: string
  /** The first of them, in the order of delivery. */
  readonly items: readonly QueueEntry[]
  /** The number of all that wait. */
  readonly waiting: number
  /**
   * When it goes on: `now`, after the `run` that is under way, once somebody `answers` a request or gives a variable, after the pause of a provider or a
   * `limit`, with a message of a user or `continue` (`parked`), with a `reopen`, or `never`.
   */
  readonly resumes: 'now' | 'run' | 'answer' | 'limit' | 'parked' | 'reopen' | 'never'
  /** True: this is the recorded state, because the thread is closed or no worker answered. */
  readonly stale: boolean
  /** The time of this state, in microseconds since 1970. */
  readonly at: number
}

export interface QueueOptions {
  /** At most so many items, the first ones. @default 50 */
  readonly limit?: number
}

/** Reads the queue; `known`: a snapshot that is read already. @throws ConfigError for a limit that cannot be; ThreadNotFoundError */
export async function readQueue(
  context: ClientContext,
  threadId: string,
  { limit }: QueueOptions,
  known?: ThreadSnapshot,
): Promise<ThreadQueue> {
  const size = checkLimit(limit)
  const snapshot = known ?? (await readSnapshot(context, threadId)).snapshot
  const { queue, stale, at } = snapshot
  const items = queue.slice(0, size)
  const rows = items.length === 0 ? NO_ROWS : await readRows(context, threadId)
  return {
    threadId,
    items: items.map((item, index) => ({
      ...item,
      place: index + 1,
      source: sourceOf(item, rows),
      deliver: rows.get(item.id)?.deliver ?? 'next_step',
    })),
    waiting: queue.length,
    resumes: resumesOf(snapshot),
    ...{ stale, at },
  }
}

const NO_ROWS: QueuedRows = new Map()

type QueuedRows = ReadonlyMap<string, Pick<QueuedMessage, 'sentBy' | 'deliver'>>

/** A queued tool is known by its call, whose row only holds it. */
async function readRows(context: ClientContext, threadId: string): Promise<QueuedRows> {
  const store = await context.store()
  const page = { threadId, length: 0, limit: LIMITS.queuedItems }
  const rows = await store.read((db) => listQueuedMessages(db, page))
  return new Map(rows.map(({ id, call, ...row }) => [call?.id ?? id, row]))
}

function sourceOf({ id, kind }: QueuedItem, rows: QueuedRows): QueueEntry['source'] {
  if (kind === 'effect') return 'effect'
  // Only clients supply variables and continue a thread.
  if (kind === 'variables' || kind === 'continue') return 'client'
  return rows.get(id)?.sentBy ?? 'unknown'
}

function resumesOf({ status, run }: ThreadSnapshot): ThreadQueue['resumes'] {
  switch (status) {
    case 'completed':
    case 'failed':
    case 'terminated':
      return 'never'
    case 'lost':
      return 'reopen'
    case 'stopped':
      return 'parked'
    case 'blocked':
    case 'waiting_permission':
    case 'waiting_input':
      return 'answer'
    case 'waiting_resource':
      return 'limit'
    default:
      return run === null ? 'now' : 'run'
  }
}
