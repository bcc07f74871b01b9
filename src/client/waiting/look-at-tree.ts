import { openThreadsBelow } from '../../store/threads/thread-tree.js'
import type { ClientContext } from '../client-context.js'
import { readSnapshot } from '../read-snapshot.js'
import type { Look } from '../read-snapshot.js'

/** Queries at a time: each may wake a thread that a worker does not have in memory. */
const AT_A_TIME = 20

/** A look at one thread, and the sequence of its last event before it. */
export interface DatedLook extends Look {
  readonly before: number
}

/** A thread and the open ones below it, each at its own moment. */
export interface TreeLook {
  readonly top: DatedLook
  /** By thread id, the top too. */
  readonly all: ReadonlyMap<string, DatedLook>
}

/** Goes on below a thread that was looked at, until one is busy. */
export async function lookAtTree(
  context: ClientContext,
  top: DatedLook,
  patience: number,
): Promise<TreeLook> {
  const store = await context.store()
  const open = await store.read((db) => openThreadsBelow(db, top.snapshot.threadId))
  const all = new Map([[top.snapshot.threadId, top]])
  for (let at = 0; at < open.length; at += AT_A_TIME) {
    const some = open.slice(at, at + AT_A_TIME).map(async ({ id, lastSequence }) => {
      const look = await readSnapshot(context, id, patience)
      all.set(id, { ...look, before: lastSequence })
      return look
    })
    if (!(await Promise.all(some)).every(isIdle)) break
  }
  return { top, all }
}

/** The first thread of a tree that is not idle, or whose subagent's report is on its way. */
export function busyIn({ all }: TreeLook): DatedLook | undefined {
  const looks = [...all.values()]
  const isOwed = (look: Look): boolean => look.owed.some((id) => comes(all.get(id)))
  return looks.find((look) => !isIdle(look)) ?? looks.find(isOwed)
}

/** One that was not looked at is closed: its report was made before. */
function comes(child: Look | undefined): boolean {
  return child === undefined || isReporting(child)
}

/**
 * Nothing happened in any thread from one look to the next: they were all idle at once, in between. Threads talk to each
 * other, so that one may have been woken by another after it was looked at.
 */
export function isUnchanged(earlier: TreeLook | null, later: TreeLook): boolean {
  return [...later.all].every(([id, { snapshot }]) => earlier?.all.get(id)?.before === snapshot.lastSequence)
}

/** Nothing is queued and nothing runs. Once stopped or closed a thread is idle, whatever waits in it. */
export function isIdle({ snapshot, silent }: Look): boolean {
  // Nobody who knows has answered: the recorded state may be older than the last message.
  if (silent) return false
  const { status, queue, stale } = snapshot
  // A workflow that says so is about to close; what it still writes belongs to the result.
  if (CLOSED.has(status)) return stale
  // Parked: what is queued waits for somebody.
  if (PARKED.has(status)) return true
  return queue.length === 0 && status !== 'running' && status !== 'waiting_resource'
}

/**
 * Whether an idle subagent whose answer is owed to its parent will bring it by itself: it has ended its work, and tells
 * so; or it was killed, and its parent will find it. One that waits for somebody, or has yet to take the call, will not.
 */
export function isReporting({ snapshot: { status, queue, pending } }: Look): boolean {
  if (status === 'lost') return true
  if (status === 'stopped' || status === 'blocked') return queue.length === 0
  return pending.length === 0
}

const CLOSED: ReadonlySet<string> = new Set(['completed', 'failed', 'terminated'])
const PARKED: ReadonlySet<string> = new Set(['stopped', 'blocked', 'lost'])
