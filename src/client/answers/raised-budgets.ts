/**
 * A limit that was raised for one thread is raised for all that wait for it: fifty subagents ask one person once.
 * Owns: which other requests an approval answers, too.
 * Does not own: the approval itself (`approval.ts`), and how a workflow hears of it (`respond.ts`).
 */
import { demandsMore } from '../../policy/approval.js'
import { budgetDetailOf } from '../../policy/budget-request.js'
import { answerRequest, listBudgetRequestsOf } from '../../store/calls/requests.js'
import type { Decision, PendingRecord } from '../../store/calls/requests.js'
import type { Reader, Writer } from '../../store/store.js'

/** Answers the open requests of other threads about the limit that this decision has raised. */
export async function releaseOthers(tx: Writer, request: PendingRecord, decision: Decision): Promise<void> {
  const detail = budgetDetailOf(request)
  if (detail === null || decision.approved !== true || request.status !== 'open') return
  for (const other of await listBudgetRequestsOf(tx, detail)) {
    const { thread_id: threadId, id, status } = other
    const rule = budgetDetailOf(other)?.approval ?? {}
    const isSelf = threadId === request.thread_id && id === request.id
    if (isSelf || status !== 'open' || demandsMore(rule, detail.approval)) continue
    await answerRequest(tx, { ...decision, threadId, id })
  }
}

/** The requests that were answered with this one, and whose calls have not gone on. */
export async function listReleased(db: Reader, request: PendingRecord): Promise<readonly PendingRecord[]> {
  const detail = budgetDetailOf(request)
  if (detail === null || request.approved !== true) return []
  const others = await listBudgetRequestsOf(db, detail)
  return others.filter(
    (other) =>
      !(other.thread_id === request.thread_id && other.id === request.id) &&
      other.status === 'answered' &&
      other.approved === true &&
      budgetDetailOf(other)?.taken !== true,
  )
}
