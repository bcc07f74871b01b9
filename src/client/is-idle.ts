import type { Look } from './read-snapshot.js'

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
