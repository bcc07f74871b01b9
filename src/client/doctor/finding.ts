import { LIMITS } from '../../protocol/limits.js'
import type { ClientContext } from '../client-context.js'
import { nowMicros, toMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { ownTaskQueue } from '../../store/store-location.js'

/**
 * `lost`: open in the store, closed in Temporal. `unclosed`: its end is decided, and its row is open. `task_failing`:
 * workers fail its workflow task again and again. `orphan`: its parent is closed. `unsignalled`: accepted, and its workflow
 * does not know. `untold_answer`: in the row of its request, and its workflow waits for it. `unasked`: no worker answered
 * what it knows. `untold_child`: closed, and its parent's registry has it open.
 * `open_request`: of a closed thread. `numbers`: events or positions that do not fit. `missing_blob`: bytes that files name.
 * `unused_blobs`: bytes that no file names. `half_deleted`: a deletion that was cut off. `wrong_namespace`: it knows none of
 * the open threads, and nothing is repaired. `other_store`: the workers or threads of two stores meet on one task queue, or
 * a thread of this database belongs to another store.
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

/** Something in which store and Temporal, or two rows, do not agree; ids and numbers, never content (T5). */
export interface Finding {
  readonly kind: FindingKind
  /** Null: of no thread. */
  readonly threadId: string | null
  /** What is wrong. */
  readonly problem: string
  readonly fixed: boolean
  /** What was done, or what can be done. */
  readonly remedy: string
}

export interface Examine {
  /** Repairs what can be repaired without loss. @default false */
  readonly fix?: boolean
  /** Opens lost threads again; with `fix` only. @default false */
  readonly reopen?: boolean
  /** Temporal has lost all threads, and this is the right namespace: goes on where it knows none. @default false */
  readonly emptied?: boolean
}

/** Where, and what may be repaired. */
export interface Doctor {
  readonly context: ClientContext
  readonly fix: boolean
  readonly reopen: boolean
}

interface Repair {
  /** Done by `fix`; a sentence of what follows from it. */
  readonly work: () => Promise<unknown>
  readonly done: string
  /** What to do without it. @default to run the command with --fix */
  readonly advice?: string
  /** @default as `fix` */
  readonly allowed?: boolean
}

type Found = Pick<Finding, 'kind' | 'threadId' | 'problem'>

/** A finding that somebody has to look after. */
export function leaveFinding(found: Found, remedy: string): Finding {
  return { ...found, fixed: false, remedy }
}

/** Repairs it if that is allowed; a repair that fails says why, and the next finding is looked at. */
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

/** What happened just now may be under way. */
export function isFresh(at: Micros): boolean {
  return nowMicros() - at < toMicros(LIMITS.underWay)
}

export function adviseSeparation(storeId: string): string {
  return (
    'If both are one project, give all its workers and clients the same EVERTHREAD_DATABASE_URL; if not, give each project ' +
    `a task queue of its own (without EVERTHREAD_TASK_QUEUE that of this store is "${ownTaskQueue(storeId)}").`
  )
}
