/** Where the contexts of a thread begin: the cuts of its history, which every request since then has. */
import type { Side } from '../../protocol/plan.js'
import { listBoundaries } from '../../store/messages/context-boundaries.js'
import type { RecordedBoundary } from '../../store/messages/context-boundaries.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { checkLimit } from '../lists/list-threads.js'

/** A cut of the history of a side: requests begin behind it, and the transcript keeps everything. */
export interface ContextBoundary {
  readonly side: Side
  /** The position in the transcript of the first message that is still in the context. */
  readonly position: number
  /**
   * `window`: the context window was full. `context_length`: the provider refused the request as too long. `command`: `compact` asked
   * for it, and `request` is that it waits. `cleared`: old results of tools were cleared.
   */
  readonly reason: string
  /** The position of the message that began the run; it stays in the context. Null: the cut lies before the run. */
  readonly opening: number | null
  /** Results of tools up to this position are reduced to their beginning and end; null: none. */
  readonly clippedUpTo: number | null
  /** Results of tools up to this position are cleared, but for errors; null: none. */
  readonly clearedUpTo: number | null
  /** What a model wrote about the messages that are left out; null: nothing. */
  readonly summary: string | null
  /** The operation that made it. */
  readonly operation: string
  /** The number of messages that are left out. */
  readonly dropped: number
  /** Estimated tokens of the request before and after it. */
  readonly tokensBefore: number | null
  readonly tokensAfter: number | null
  /** In microseconds since 1970. */
  readonly createdAt: number
}

export interface BoundariesOptions {
  /** At most so many, the newest ones. @default 50 */
  readonly limit?: number
}

/** Lists the newest boundaries, the newest first. @throws ConfigError for a limit that cannot be; ThreadNotFoundError */
export async function readBoundaries(
  context: ClientContext,
  threadId: string,
  { limit }: BoundariesOptions,
): Promise<readonly ContextBoundary[]> {
  const size = checkLimit(limit)
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    return (await listBoundaries(db, threadId, size)).map(toBoundary)
  })
}

function toBoundary({ side, position, kind, detail, ...row }: RecordedBoundary): ContextBoundary {
  const { opening, clipped, dropped, cleared = null, summary = null } = detail
  const { tokensBefore, tokensAfter, createdAt, operation } = row
  return {
    ...{ side, position, reason: kind, opening, clippedUpTo: clipped, dropped },
    ...{ clearedUpTo: cleared, summary, operation },
    ...{ tokensBefore, tokensAfter, createdAt },
  }
}
