import { ThreadNotFoundError } from '../../protocol/errors.js'
import type { ThreadStatus, SubagentRegistryEntry } from '../../protocol/status.js'
import { threadsFrom } from '../../store/threads/thread-tree.js'
import type { ThreadNode } from '../../store/threads/thread-tree.js'
import type { ClientContext } from '../client-context.js'

/** A thread and all threads below it, as the store has them. */
export interface ThreadTree {
  readonly threadId: string
  readonly agent: string
  readonly status: ThreadStatus
  /** When it closed, in microseconds since 1970; null while it is open. */
  readonly closedAt: number | null
  /** Its entry in the registry of its parent; null for a root thread. */
  readonly entry: SubagentRegistryEntry | null
  /** All subagents that it ever started, the first one first. */
  readonly children: readonly ThreadTree[]
}

/** @throws ThreadNotFoundError */
export async function readTree(context: ClientContext, threadId: string): Promise<ThreadTree> {
  const store = await context.store()
  const nodes = await store.read((db) => threadsFrom(db, threadId))
  const self = nodes.find(({ id }) => id === threadId)
  if (self === undefined) throw new ThreadNotFoundError(threadId)
  const below = new Map<string | null, ThreadNode[]>()
  for (const node of nodes) {
    // The top of the tree: its own parent does not matter here.
    if (node === self) continue
    const parent = node.parent_thread_id
    const siblings = below.get(parent)
    if (siblings === undefined) below.set(parent, [node])
    else siblings.push(node)
  }
  return treeOf(self, below)
}

type Below = ReadonlyMap<string | null, readonly ThreadNode[]>

function treeOf({ id, agent, status, closed_at, entry }: ThreadNode, below: Below): ThreadTree {
  const children = (below.get(id) ?? []).map((child) => treeOf(child, below))
  // The store's boundary: our code wrote the status.
  return { threadId: id, agent, status: status as ThreadStatus, closedAt: closed_at, entry, children }
}
