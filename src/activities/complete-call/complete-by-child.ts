import { resultOperationId } from '../../protocol/ids.js'
import type { CompleteCallAnswer, CompleteCallInput, Completion } from '../../protocol/activities.js'
import { findChild } from '../../store/children.js'
import type { Store } from '../../store/store.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { failed, succeeded } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { keptPlan } from '../plan-content.js'
import { recordClosedChild } from '../record-closed-child.js'

/** The child's report, or that it closed without one (T7). */
export async function completeByChild(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  { report, reference }: Extract<Completion, { readonly kind: 'child' }>,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const hooks = callHooks(dependencies, { input, content })
  const operationId = resultOperationId(input.callId)
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (report.kind === 'closed')
    return closedWithoutReport(store, call, { reference, status: report.status, hooks })
  const result = await reportedResult(store, call, reference)
  return commitResult(store, call, result, { hooks, reportId: report.messageId })
}

async function reportedResult(store: Store, call: HeldCall, reference: string): Promise<CallResult> {
  const child = await store.read((db) => findChild(db, call.input.threadId, reference))
  // Anybody can send a signal that looks like a report (T10).
  if (child?.report == null) return failed('The subagent sent no report.', 'subagent_failed')
  const { kind, text, attachments } = child.report
  const more = { attachments, subagentId: reference }
  return kind === 'result' ? succeeded(text, more) : failed(text, 'subagent_failed', more)
}

async function closedWithoutReport(
  store: Store,
  call: HeldCall,
  {
    reference,
    status,
    hooks,
  }: { readonly reference: string; readonly status: string; readonly hooks: HookBatch },
): Promise<CompleteCallAnswer> {
  const { threadId } = call.input
  const reason = `The subagent was closed without a report (${status}).`
  const result = failed(reason, 'subagent_closed', { subagentId: reference })
  return commitResult(store, call, result, {
    hooks,
    opening: async (tx) => {
      await recordClosedChild(tx, { threadId, reference, status, scope: call.scope, now: call.now })
      return []
    },
  })
}
