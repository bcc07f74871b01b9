import type { DeliverReportAnswer } from '../protocol/end-activities.js'
import { reportOperationId } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { findOperation } from './operations.js'
import type { Reader } from './store.js'

/**
 * The reports of a child behind this number, the oldest first, as it announces them. None while a run of it is under way:
 * by the time the parent hears of an end, it is settled (T7).
 */
export async function missedReports(
  db: Reader,
  reference: string,
  taken: number,
): Promise<readonly ChildReport[]> {
  const running = await db
    .selectFrom('runs')
    .select('number')
    .where('thread_id', '=', reference)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (running !== undefined) return []
  const missed: ChildReport[] = []
  // What a parent keeps of a child's calls is bounded, and so is what a report of it can answer.
  for (let report = taken + 1; report <= taken + LIMITS.invocationsPerChild; report += 1) {
    const operation = await findOperation(db, reference, reportOperationId(report))
    if (operation === null) break
    // Written by deliverReport: the store's boundary.
    const answer = operation.answer as DeliverReportAnswer
    const { invocations, closes } = operation.detail as Pick<ChildReport, 'invocations' | 'closes'>
    if (answer.type !== 'delivered') continue
    const { kind, messageId } = answer
    const said = { reference, report, invocations, kind }
    missed.push({ ...said, ...(messageId !== null && { messageId }), ...(closes === true && { closes }) })
  }
  return missed
}
