import type { CompleteCallAnswer, CompleteCallInput, Completion } from '../../protocol/activities.js'
import { findChild } from '../../store/children.js'
import type { Store } from '../../store/store.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { failed, succeeded } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { shownText } from '../execute-tool/long-text.js'
import type { PendingResult } from '../execute-tool/to-call-result.js'
import { recordClosedChild } from '../record-closed-child.js'

/** The child's report, or that it closed without one (T7). */
export async function completeByChild(
  { store }: ActivityDependencies,
  input: CompleteCallInput,
  { report, reference }: Extract<Completion, { readonly kind: 'child' }>,
): Promise<CompleteCallAnswer> {
  const operationId = `${input.callId}_result`
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (report.kind === 'closed') return closedWithoutReport(store, call, { reference, status: report.status })
  const result = await reportedResult(store, call, reference)
  return commitResult(store, call, result, { reportId: report.messageId })
}

/** A long report is stored whole beside its head and tail, as every result is. */
async function reportedResult(store: Store, call: HeldCall, reference: string): Promise<PendingResult> {
  const child = await store.read((db) => findChild(db, call.input.threadId, reference))
  // Anybody can send a signal that looks like a report (T10).
  if (child?.report == null) return async () => failed('The subagent sent no report.', 'subagent_failed')
  const { kind, text, attachments } = child.report
  const more = { attachments, subagentId: reference }
  const shown = await shownText(store, call, text)
  return async (tx) => {
    await shown.put(tx)
    return kind === 'result' ? succeeded(shown.text, more) : failed(shown.text, 'subagent_failed', more)
  }
}

async function closedWithoutReport(
  store: Store,
  call: HeldCall,
  child: { readonly reference: string; readonly status: string },
): Promise<CompleteCallAnswer> {
  const { reference, status } = child
  const { threadId } = call.input
  const reason = `The subagent was closed without a report (${status}).`
  return commitResult(store, call, async (tx) => {
    await recordClosedChild(tx, { threadId, reference, status, scope: call.scope, now: call.now })
    return failed(reason, 'subagent_closed', { subagentId: reference })
  })
}
