/** The subagents of a thread, a page at a time: it may have started ten thousand. */
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import { countChildren } from '../../store/threads/children.js'
import { listRegisteredChildren } from '../../store/threads/thread-tree.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { checkLimit, cursorOf, readCursor } from '../lists/list-threads.js'
import type { PageOptions } from '../lists/list-threads.js'

/** One page of the subagents that a thread ever started, the first one first. */
export interface ChildrenPage {
  readonly children: readonly SubagentRegistryEntry[]
  /** The number of all of them. */
  readonly count: number
  /** `cursor` of the next page; null on the last one. */
  readonly next: string | null
}

/** @throws ConfigError for a cursor that is none, or a limit that cannot be; ThreadNotFoundError */
export async function readChildren(
  context: ClientContext,
  threadId: string,
  { cursor, limit }: PageOptions,
): Promise<ChildrenPage> {
  const after = cursor === undefined ? undefined : readPlace(cursor)
  const size = checkLimit(limit)
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const page = { parentThreadId: threadId, limit: size + 1, ...(after !== undefined && { after }) }
    const found = await listRegisteredChildren(db, page)
    const children = found.slice(0, size)
    const last = children.at(-1)
    const isMore = found.length > size && last !== undefined
    return {
      children,
      count: await countChildren(db, threadId),
      next: isMore ? cursorOf([last.createdAt, last.reference]) : null,
    }
  })
}

function readPlace(cursor: string): Pick<SubagentRegistryEntry, 'createdAt' | 'reference'> {
  const [createdAt, reference] = readCursor(cursor, ['number', 'string'])
  return { createdAt: Number(createdAt), reference: String(reference) }
}
