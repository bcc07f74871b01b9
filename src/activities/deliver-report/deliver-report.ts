import type { DeliverReportAnswer, DeliverReportInput } from '../../protocol/end-activities.js'
import { reportOperationId } from '../../protocol/ids.js'
import { findChild } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import { amendOperation, findOperation, insertOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Reader, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { whileBeating } from '../beat.js'
import { microseconds } from '../call-model/model-step.js'
import type { ActivityDependencies } from '../dependencies.js'
import { newFacts, toldFacts } from '../news.js'
import { sessionPayload } from './session-payload.js'
import { writeClosing, writeReport } from './write-report.js'

/**
 * Writes a child's report into its parent's store, files included, before the parent's workflow hears of it (T2). Done
 * once; a parent that is terminated or gone takes none.
 */
export async function deliverReport(
  dependencies: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  return whileBeating(() =>
    dependencies.store.write(async (tx): Promise<DeliverReportAnswer> => {
      const answer = await deliveredOnce(tx, dependencies, input)
      if (answer.type === 'parent_gone' || input.closes) return answer
      // It may have made no other call that says so.
      const thread = await findThread(tx, input.threadId)
      return thread?.terminate_requested_at == null ? answer : { ...answer, terminated: true }
    }),
  )
}

async function deliveredOnce(
  tx: Writer,
  dependencies: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  const id = reportOperationId(input.report)
  const done = await findOperation(tx, input.threadId, id)
  if (done !== null) return deliveredAgain(tx, input, done)
  const answer = await deliver(tx, dependencies, input)
  const now = microseconds(input)
  await insertOperation(tx, {
    thread_id: input.threadId,
    id,
    kind: 'report',
    state: 'finished',
    attempt: 1,
    answer,
    detail: { invocations: input.invocations, closes: input.closes, ...toldFacts(input.facts) },
    started_at: now,
    finished_at: now,
  })
  await appendEvents(tx, { threadId: input.threadId, events: input.facts, now })
  return answer
}

/** Nobody heard that it is done: what came meanwhile is stored now. */
async function deliveredAgain(
  tx: Writer,
  { threadId, facts, ...input }: DeliverReportInput,
  done: OperationRecord,
): Promise<DeliverReportAnswer> {
  const events = newFacts(facts, done)
  if (events.length > 0) {
    await appendEvents(tx, { threadId, events, now: microseconds(input) })
    // Written above: the store's boundary.
    const detail = { ...(done.detail as object), ...toldFacts(events, done) }
    await amendOperation(tx, { threadId, id: done.id, detail })
  }
  return done.answer as DeliverReportAnswer
}

async function deliver(
  tx: Writer,
  { registry }: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  const { parent, threadId: reference, closes, invocations, sessionCall } = input
  if (!(await takesReports(tx, parent.threadId))) return { type: 'parent_gone' }
  const child = await findChild(tx, parent.threadId, reference)
  // The parent waits for it no more: a call that timed out has its result.
  if (child !== null && child.closed_at !== null)
    return { type: 'delivered', kind: 'notice', messageId: null }
  if (closes && invocations.length === 0 && sessionCall === null) return writeClosing(tx, { input, child })
  return writeReport(tx, { input, child, payload: await sessionPayload(tx, registry, input) })
}

/** T8: the parent's row is the authority. */
async function takesReports(db: Reader, threadId: string): Promise<boolean> {
  const thread = await db
    .selectFrom('threads')
    .select(['terminate_requested_at', 'closed_at'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  return thread !== undefined && thread.terminate_requested_at === null && thread.closed_at === null
}
