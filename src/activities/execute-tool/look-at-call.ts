import type { ExecuteToolAnswer, ExecuteToolInput } from '../../protocol/activities.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findToolCall } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'

type Seen =
  | { readonly kind: 'answered'; readonly answer: ExecuteToolAnswer }
  /** Anybody can send a signal that names a call (T10). */
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'open'
      readonly row: ToolCallRecord
      /** Null: nobody has touched the call yet. */
      readonly operation: OperationRecord | null
    }

/** What has an outcome is answered at once, whatever this worker knows of its tool (T4). */
export async function lookAtCall(
  store: Store,
  { threadId, callId, queued, run, step }: ExecuteToolInput,
): Promise<Seen> {
  return store.read(async (db) => {
    const [operation, row] = await Promise.all([
      findOperation(db, threadId, callId),
      findToolCall(db, threadId, callId),
    ])
    // Written by `finishOperation` of the same activity: the store's boundary.
    const answer = operation?.state === 'finished' ? (operation.answer as ExecuteToolAnswer) : null
    // A queued call that is over asked or waited before: it does neither again. Another step that names it has it told
    // nothing, while a retry or a reset of the step that ran it gets what it did to its thread (T9).
    const over = queued && row !== null && row.status !== 'open'
    if (over && (answer?.type !== 'result' || row.run !== run || row.step !== step))
      return { kind: 'answered', answer: { type: 'result', outcome: row.status, untold: true } } as const
    if (answer !== null) return { kind: 'answered', answer } as const
    if (row === null && queued) return { kind: 'missing' } as const
    if (row === null) throw new Error(`Expected a row of the call ${callId}, found none.`)
    return { kind: 'open', row, operation } as const
  })
}
