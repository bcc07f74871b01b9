import type { StoredDelta } from '../store/deltas.js'
import type { Delta } from './join-event.js'

/** Where a subscriber is in what streams: it reads on after `after`. */
export interface DeltaCursor {
  readonly after: number
  /** What is new, the pieces of one text joined. A message in `committed` needs no deltas any more. */
  take(read: readonly StoredDelta[], committed: ReadonlySet<string>): readonly Delta[]
}

export function createDeltaCursor(): DeltaCursor {
  let after = 0
  const attempts = new Map<string, number>()
  return {
    get after() {
      return after
    },
    take(read, committed) {
      const joined: Delta[] = []
      for (const delta of read) {
        after = delta.id
        if (committed.has(delta.messageId)) continue
        // A late piece of an attempt that was given up would be shown after its successor's text.
        if (delta.attempt < (attempts.get(delta.messageId) ?? 0)) continue
        attempts.set(delta.messageId, delta.attempt)
        append(joined, delta)
      }
      for (const messageId of committed) attempts.delete(messageId)
      return joined.filter((delta) => delta.attempt === (attempts.get(delta.messageId) ?? delta.attempt))
    },
  }
}

function append(joined: Delta[], delta: Delta): void {
  const last = joined.at(-1)
  const follows =
    last?.messageId === delta.messageId && last.attempt === delta.attempt && last.kind === delta.kind
  if (last !== undefined && follows) joined[joined.length - 1] = { ...last, text: last.text + delta.text }
  else joined.push(delta)
}
