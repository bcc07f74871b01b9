import type { PendingRequest, ThreadHandle, ThreadTree } from '../client/index.js'
import type { CommandContext } from './command.js'

/** A question of a thread, or of one below or above it. */
export type TreeRequest = PendingRequest & {
  readonly threadId: string
  /** How the subagent is called that asks; null: the thread of the conversation. */
  readonly subagent: string | null
}

/** What waits for a person in the tree of a thread; each is put before them once, unless they ask again. */
export interface TreeRequests {
  /** Those that were not put before anybody yet. */
  open(): Promise<readonly TreeRequest[]>
  put(request: TreeRequest): void
  /** Those that were left are open again. */
  again(): void
}

export function treeRequests({ threads }: CommandContext, thread: ThreadHandle, root: string): TreeRequests {
  const put = new Set<string>()
  return {
    async open() {
      const found: TreeRequest[] = []
      for await (const request of threads.pending({ root })) {
        if (put.has(keyOf(request))) continue
        const { threadId } = request
        const subagent =
          threadId === thread.threadId ? null : nameIn(await threads.get(root).tree(), threadId)
        found.push({ ...request, subagent })
      }
      return found
    },
    put: (request) => void put.add(keyOf(request)),
    again: () => put.clear(),
  }
}

function keyOf({ threadId, id }: { readonly threadId: string; readonly id: string }): string {
  return `${threadId} ${id}`
}

function nameIn(tree: ThreadTree, threadId: string): string {
  const found = findIn(tree, threadId)
  if (found === null) return threadId
  const named = found.entry?.threadName === undefined ? '' : ` "${found.entry.threadName}"`
  return `${found.entry?.name ?? found.agent}${named}`
}

function findIn(tree: ThreadTree, threadId: string): ThreadTree | null {
  if (tree.threadId === threadId) return tree
  for (const child of tree.children) {
    const found = findIn(child, threadId)
    if (found !== null) return found
  }
  return null
}
