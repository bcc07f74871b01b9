import type { ExecuteToolInput, ResultAnswer } from '../../protocol/activities.js'
import { findOperation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findToolCall } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'

type Seen =
  | { readonly kind: 'answered'; readonly answer: ResultAnswer }
  /** Anybody can send a signal that names a call (T10). */
  | { readonly kind: 'missing' }
  | { readonly kind: 'open'; readonly row: ToolCallRecord }

/** What has an outcome is answered at once, whatever this worker knows of its tool (T4). */
export async function lookAtCall(
  store: Store,
  { threadId, callId, queued }: ExecuteToolInput,
): Promise<Seen> {
  return store.read(async (db) => {
    const operation = await findOperation(db, threadId, callId)
    // Written by `finishOperation` of the same activity: the store's boundary.
    if (operation?.state === 'finished')
      return { kind: 'answered', answer: operation.answer as ResultAnswer } as const
    const row = await findToolCall(db, threadId, callId)
    if (row === null && queued) return { kind: 'missing' } as const
    if (row === null) throw new Error(`Expected a row of the call ${callId}, found none.`)
    return { kind: 'open', row } as const
  })
}
