import type { Writer } from './store.js'

/** Threads that transactions note, for the watchers that are called after the commit. */
function createNotes() {
  const noted = new WeakMap<Writer, Set<string>>()
  return {
    add(tx: Writer, threadId: string): void {
      const threadIds = noted.get(tx)
      if (threadIds === undefined) noted.set(tx, new Set([threadId]))
      else threadIds.add(threadId)
    },
    of: (tx: Writer): ReadonlySet<string> => noted.get(tx) ?? NONE,
  }
}

const NONE: ReadonlySet<string> = new Set()

const changes = createNotes()
const stops = createNotes()

/**
 * Notes that a transaction appends to the thread, so that its watchers are called after the commit. Call it before the row
 * of the thread is written: the driver then knows on which thread a transaction had a conflict.
 */
export function noteChange(tx: Writer, threadId: string): void {
  changes.add(tx, threadId)
}

/** The threads noted in a transaction. A driver reads them when the work is done, and announces them after the commit. */
export function changesIn(tx: Writer): ReadonlySet<string> {
  return changes.of(tx)
}

/** Notes that a transaction stores a stop of the thread, so that its activity in flight hears of it after the commit. */
export function noteStop(tx: Writer, threadId: string): void {
  stops.add(tx, threadId)
}

/** The threads whose stop a transaction stores. */
export function stopsIn(tx: Writer): ReadonlySet<string> {
  return stops.of(tx)
}

const fleeting = new WeakSet<Writer>()

/** Notes that the writes of a transaction may be lost if the machine of the database crashes. */
export function noteFleeting(tx: Writer): void {
  fleeting.add(tx)
}

/** Whether a driver may report the commit before it is on the disk. */
export function isFleeting(tx: Writer): boolean {
  return fleeting.has(tx)
}

/** In the place of a thread's id: every thread. No thread has an empty id. */
export const ANY_THREAD = ''

/** The watchers of threads in one store of this process. */
interface Watchers {
  /** There are no watchers: the driver need not look for commits. */
  readonly idle: boolean
  /** The threads that have watchers. */
  readonly threadIds: readonly string[]
  /** Returns a function that removes the listener; it is not called afterwards. */
  add(threadId: string, listener: () => void): () => void
  notify(threadIds: Iterable<string>): void
  /** Calls all listeners: for a driver that cannot know which changes it missed. */
  notifyAll(): void
}

/** Changes for one reader that alternates between reading and waiting for more. */
interface ChangeCount {
  /** Grows with each change: it is taken before a read, and given to `wait` after it. */
  readonly version: number
  readonly add: () => void
  /** Returns once there is a change after that version, or when the time is over, in milliseconds. */
  wait(since: number, longest: number): Promise<void>
}

export function countChanges(): ChangeCount {
  let version = 0
  let wake = (): void => undefined
  return {
    get version() {
      return version
    },
    add: (): void => {
      version += 1
      wake()
    },
    async wait(since, longest) {
      if (version !== since) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        timer = setTimeout(resolve, longest)
      })
      clearTimeout(timer)
    },
  }
}

/** The listeners of one store. A listener carries no data: it only wakes a reader. */
export function createWatchers(): Watchers {
  const listeners = new Map<string, Set<() => void>>()

  function notify(threadIds: Iterable<string>): void {
    const threads = new Set(threadIds)
    if (threads.size > 0) threads.add(ANY_THREAD)
    for (const threadId of threads) {
      // A copy, because a listener may add and remove watches.
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
      // Two watches with the same function are two watches.
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
    notify,
    notifyAll: () => notify([...listeners.keys()]),
  }
}

/** A listener that throws ends the process, as any bug in a callback; it fails neither other listeners nor the write. */
function call(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    setImmediate(() => {
      throw error
    })
  }
}
