import type { Writer } from './store.js'

const noted = new WeakMap<Writer, Set<string>>()

/**
 * Says that a transaction appends to the thread: whoever watches it is told after the commit. Said before the row of the
 * thread is written, so that a driver knows for which thread a transaction was in conflict with another one.
 */
export function noteChange(tx: Writer, threadId: string): void {
  const threadIds = noted.get(tx)
  if (threadIds === undefined) noted.set(tx, new Set([threadId]))
  else threadIds.add(threadId)
}

/** The threads noted in a transaction. A driver asks when the work is done, and tells when it is committed. */
export function changesIn(tx: Writer): ReadonlySet<string> {
  return noted.get(tx) ?? NONE
}

const NONE: ReadonlySet<string> = new Set()

const fleeting = new WeakSet<Writer>()

/** Says that nobody counts on what a transaction writes: it may be lost when the machine of the database goes down. */
export function noteFleeting(tx: Writer): void {
  fleeting.add(tx)
}

/** Whether a driver may answer before the transaction is on the disk. */
export function isFleeting(tx: Writer): boolean {
  return fleeting.has(tx)
}

/** Who watches which threads in one store of this process. */
interface Watchers {
  /** Nobody watches: the driver need not look. */
  readonly idle: boolean
  /** The threads that somebody watches. */
  readonly threadIds: readonly string[]
  /** Returns its end, after which the listener is not called again. */
  add(threadId: string, listener: () => void): () => void
  tell(threadIds: Iterable<string>): void
  /** For a driver that cannot know whose change it missed. */
  tellAll(): void
}

/** The listeners of one store. They only wake somebody. */
export function createWatchers(): Watchers {
  const listeners = new Map<string, Set<() => void>>()

  function tell(threadIds: Iterable<string>): void {
    for (const threadId of threadIds) {
      // A copy: who is told may end its own watch or somebody else's, or begin another.
      for (const listener of [...(listeners.get(threadId) ?? [])])
        if (listeners.get(threadId)?.has(listener) === true) call(listener)
    }
  }

  return {
    get idle() {
      return listeners.size === 0
    },
    get threadIds() {
      return [...listeners.keys()]
    },
    add(threadId, listener) {
      // Two watches with the same function are two.
      const own = () => listener()
      const others = listeners.get(threadId)
      if (others === undefined) listeners.set(threadId, new Set([own]))
      else others.add(own)
      return () => {
        const left = listeners.get(threadId)
        left?.delete(own)
        if (left?.size === 0) listeners.delete(threadId)
      }
    },
    tell,
    tellAll: () => tell([...listeners.keys()]),
  }
}

/** One that throws ends the process, as any bug in a callback, and fails neither the others nor the write they hear of. */
function call(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    setImmediate(() => {
      throw error
    })
  }
}
