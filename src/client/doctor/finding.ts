import { LIMITS } from '../../protocol/limits.js'
import type { ClientContext } from '../client-context.js'
import { nowMicros, toMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { ownTaskQueue } from '../../store/store-location.js'

/**
 * `lost`: the thread is open in the store and closed in Temporal. `unclosed`: its end is decided, and its row is open.
 * `task_failing`: workers fail its workflow task again and again. `orphan`: its parent is closed. `unsignalled`: items were
 * accepted, and its workflow has not received them. `untold_answer`: an answer is in the row of its request, and the workflow
 * waits for it. `unasked`: no worker answered for the thread. `untold_child`: a child is closed, and its parent's registry has
 * it open. `open_request`: a closed thread has an open request. `numbers`: events or positions do not fit. `missing_blob`: bytes
 * that files name are missing. `unused_blobs`: no file names these bytes. `half_deleted`: a deletion was interrupted.
 * `wrong_namespace`: the namespace has none of the open threads, and nothing is repaired. `other_store`: the workers or threads
 * of two stores meet on one task queue, or a thread of this database belongs to another store.
 */
export type FindingKind =
  | 'lost'
  | 'unclosed'
  | 'task_failing'
  | 'orphan'
  | 'unsignalled'
  | 'untold_answer'
  | 'unasked'
  | 'untold_child'
  | 'open_request'
  | 'numbers'
  | 'missing_blob'
  | 'unused_blobs'
  | 'half_deleted'
  | 'wrong_namespace'
  | 'other_store'

/** A disagreement between store and Temporal, or between rows. It has ids and numbers, never content (T5). */
export interface Finding {
  readonly kind: FindingKind
  /** Null when the finding belongs to no thread. */
  readonly threadId: string | null
  /** What is wrong. */
  readonly problem: string
  readonly fixed: boolean
  /** What was done, or what can be done about it. */
  readonly remedy: string
}

export interface Examine {
  /** Repairs what can be repaired without loss. @default false */
  readonly fix?: boolean
  /** Reopens lost threads; with `fix` only. @default false */
  readonly reopen?: boolean
  /**
   * Confirms that this is the right namespace although Temporal has none of the threads, so that the repair goes on.
   * @default false
   */
  readonly emptied?: boolean
}

/** The client to work with, and what may be repaired. */
export interface Doctor {
  readonly context: ClientContext
  readonly fix: boolean
  readonly reopen: boolean
}

interface Repair {
  /** The repair itself. */
  readonly work: () => Promise<unknown>
  /** The remedy of the finding once it is repaired. */
  readonly done: string
  /** The remedy where the repair is not allowed. @default to run the command with --fix */
  readonly advice?: string
  /** @default as `fix` */
  readonly allowed?: boolean
}

type Found = Pick<Finding, 'kind' | 'threadId' | 'problem'>

/** A finding that is not repaired. */
export function leaveFinding(found: Found, remedy: string): Finding {
  return { ...found, fixed: false, remedy }
}

/** Repairs a finding if that is allowed; the finding of a failed repair has the error, and the check goes on. */
export async function repairFinding({ fix }: Doctor, found: Found, repair: Repair): Promise<Finding> {
  const { work, done, advice = 'Run the command with --fix.', allowed = fix } = repair
  if (!allowed) return leaveFinding(found, advice)
  try {
    await work()
    return { ...found, fixed: true, remedy: done }
  } catch (error) {
    return leaveFinding(
      found,
      `It could not be repaired: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** Whether something happened so recently that it may still be in progress. */
export function isFresh(at: Micros): boolean {
  return nowMicros() - at < toMicros(LIMITS.underWay)
}

/** Advice for two stores on one task queue. */
export function adviseSeparation(storeId: string): string {
  return (
    'If both are one project, give all its workers and clients the same EVERTHREAD_DATABASE_URL; if not, give each project ' +
    `a task queue of its own (without EVERTHREAD_TASK_QUEUE that of this store is "${ownTaskQueue(storeId)}").`
  )
}
