import { findOperation, insertOperation } from '../../store/operations.js'
import type { Reader, Writer } from '../../store/store.js'
import type { HookBatch } from './hook-batch.js'

/** The row that says that the hooks of a new thread have run: once in effect, whatever becomes of the first activity. */
const THREAD_CREATED = 'hook_thread_created'

interface NewThread {
  readonly threadId: string
  readonly run: number
  /** What started the run, in its first step. */
  readonly trigger: string | null
}

/** Whether the thread begins here. One that has run before its agent had such a hook is not new. */
export async function isNewThread(db: Reader, { threadId, run, trigger }: NewThread): Promise<boolean> {
  if (run !== 1 || trigger === null) return false
  return (await findOperation(db, threadId, THREAD_CREATED)) === null
}

export async function runThreadCreated(batch: HookBatch): Promise<void> {
  await batch.run('after_thread_created', null, { ask: (execute, state) => execute(state) })
}

/** In the transaction that commits what these hooks did. */
export async function markThreadCreated(tx: Writer, threadId: string, now: number): Promise<void> {
  await insertOperation(tx, {
    thread_id: threadId,
    id: THREAD_CREATED,
    kind: 'hook',
    state: 'finished',
    attempt: 1,
    started_at: now,
    finished_at: now,
  })
}
