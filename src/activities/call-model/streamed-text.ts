import { LIMITS } from '../../protocol/limits.js'
import { noteFleeting } from '../../store/changes.js'
import { appendDelta, countDeltas } from '../../store/deltas.js'
import type { NewDelta } from '../../store/deltas.js'
import { isHeld } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'
import { joinDeltas } from './join-deltas.js'
import { operationOf, streamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'

/** What an answer has streamed into the store so far. */
export interface StreamedText {
  /** False: the store could not take it. */
  append(deltas: readonly NewDelta[]): Promise<boolean>
  /** The text of earlier attempts is of no interest any more. */
  begin(attempt: number): void
}

interface Row {
  readonly id: number
  readonly at: number
}

/**
 * A database that is killed forgets the last moments of what it took: nobody waits for live text to be on its disk. So what
 * was written lately is looked for each second, and after a write that took so long, for it may have waited for the
 * database to come back; if any of it is gone, the whole text is written again, and readers skip what they saw of it.
 */
export function createStreamedText(store: Store, step: ModelStep): StreamedText {
  let attempt = 1
  let text: readonly NewDelta[] = []
  /** Not known to be on the disk; only a look that finds all of them takes the older ones off. */
  let recent: readonly Row[] = []
  let looked = performance.now()

  async function isForgotten(): Promise<boolean> {
    const began = performance.now()
    const ids = recent.map(({ id }) => id)
    const found = ids.length === 0 ? 0 : await store.read((db) => countDeltas(db, streamedMessage(step), ids))
    if (found < ids.length) return true
    looked = began
    recent = recent.filter((row) => began - row.at < LIMITS.deltaFleeting)
    return false
  }

  function isCurrent(delta: NewDelta): boolean {
    return delta.attempt === attempt
  }

  function taken(deltas: readonly NewDelta[], ids: readonly number[]): void {
    const at = performance.now()
    text = joinDeltas([...text, ...deltas.filter(isCurrent)])
    if (deltas.every(isCurrent)) recent = [...recent, ...ids.map((id) => ({ id, at }))]
  }

  /** What fails here is looked for after the next write. */
  async function mend(): Promise<void> {
    const mended = attempt
    try {
      if (!(await isForgotten())) return
      const ids = await write(store, step, text)
      const at = performance.now()
      if (mended === attempt) recent = ids.map((id) => ({ id, at }))
    } catch (error) {
      if (!StoreError.isInstance(error)) throw error
    }
  }

  return {
    async append(deltas) {
      try {
        taken(deltas, await write(store, step, deltas))
      } catch (error) {
        if (!StoreError.isInstance(error)) throw error
        return false
      }
      if (performance.now() - looked >= LIMITS.deltaLook) await mend()
      return true
    },
    begin(next) {
      attempt = next
      text = []
      recent = []
    },
  }
}

/**
 * A worker that was given up and does not know it streams to nobody: its text would stand among its successor's (T4).
 * Answers the rows' ids.
 */
function write(store: Store, step: ModelStep, deltas: readonly NewDelta[]): Promise<readonly number[]> {
  const held = { ...operationOf(step.input), attempt: step.attempt }
  return store.write(async (tx) => {
    noteFleeting(tx)
    if (!(await isHeld(tx, held))) return []
    const ids: number[] = []
    for (const delta of deltas) ids.push(await appendDelta(tx, delta))
    return ids
  })
}
