import type {
  CheckChildrenAnswer,
  CheckChildrenInput,
  DeliverReportAnswer,
  DeliverReportInput,
  ExpireChildAnswer,
  ExpireChildInput,
} from '../../src/protocol/end-activities.js'
import { reportOperationId } from '../../src/protocol/ids.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { ChildReport } from '../../src/protocol/messages.js'
import { rejectWaiting, stage } from '../store/messages.js'
import type { ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'
import { isOpen } from './choices.js'
import { append, openThread, takeFacts } from './steps.js'
import type { Attempt, Steps } from './steps.js'

/** Writes a child's report into its parent's store before the parent's workflow hears of it (T2). Done once. */
export function* deliverReport(attempt: Attempt, input: DeliverReportInput): Steps<DeliverReportAnswer> {
  yield
  const thread = attempt.world.thread(input.threadId)
  const answer = deliveredOnce(attempt, thread, input)
  if (answer.type === 'parent_gone' || input.closes || !thread.terminateRequested) return answer
  return { ...answer, terminated: true }
}

function deliveredOnce(
  { world, activity }: Attempt,
  thread: ThreadRow,
  input: DeliverReportInput,
): DeliverReportAnswer {
  const id = reportOperationId(input.report)
  const done = thread.operations.get(id)
  // It may have been stored when nobody heard so, and is asked for again.
  if (done !== undefined) return done.answer as DeliverReportAnswer
  const answer = delivered(world, input)
  const { invocations, closes } = input
  const finished = { id, state: 'finished', attempt: 1, answer, requested: true, by: activity } as const
  thread.operations.set(id, { ...finished, detail: { invocations, closes } })
  append(thread, takeFacts(thread, input))
  return answer
}

function delivered(world: World, input: DeliverReportInput): DeliverReportAnswer {
  const { parent, threadId: reference, report, invocations, closes, kind } = input
  const above = world.threads.get(parent.threadId)
  if (above === undefined || !isOpen(above)) return { type: 'parent_gone' }
  const child = above.children.get(reference)
  if (child?.closed === true) return { type: 'delivered', kind: 'notice', messageId: null }
  const silent = closes && invocations.length === 0 && input.sessionCall === null
  if (child !== undefined && closes) child.closed = true
  if (silent || child?.explicit === true) return { type: 'delivered', kind: 'notice', messageId: null }
  const inGroup = child?.group === true && invocations.includes(child.callId)
  if (inGroup) return { type: 'delivered', kind, messageId: null }
  const messageId = `${reference}:report:${report}`
  stage(above, { id: messageId, role: 'user', by: 'child', child: reference, invocations })
  if (child !== undefined) child.report = messageId
  return { type: 'delivered', kind, messageId }
}

/** Temporal's word on a child; null: it runs. */
export function closeStatus({ server }: World, reference: string): string | null {
  const state = server.executions.get(reference)?.run.state
  if (state === undefined) return 'not_found'
  return state === 'open' ? null : state
}

/** Looks for children whose close event can no longer reach their parent, and for reports that did not (T7). */
export function* checkChildren(
  { world }: Attempt,
  { check, references, taken }: CheckChildrenInput,
): Steps<CheckChildrenAnswer> {
  // Each third answer is as one that is full behind its first child.
  const isFull = check % 3 === 0 && references.length > 1
  const closed: { reference: string; status: string }[] = []
  const missed: ChildReport[] = []
  for (const [index, reference] of references.entries()) {
    const status = closeStatus(world, reference)
    yield
    missed.push(...missedReports(world, reference, taken[index] ?? 0))
    if (status !== null) closed.push({ reference, status })
    if (isFull) break
  }
  return { type: 'checked', ...(isFull && { looked: 1 }), closed, ...(missed.length > 0 && { missed }) }
}

function missedReports(world: World, reference: string, taken: number): readonly ChildReport[] {
  const child = world.threads.get(reference)
  if (child === undefined || [...child.runs.values()].some(({ ended }) => !ended)) return []
  const missed: ChildReport[] = []
  for (let report = taken + 1; report <= taken + LIMITS.invocationsPerChild; report += 1) {
    const operation = child.operations.get(reportOperationId(report))
    if (operation?.detail === undefined) break
    const answer = operation.answer as DeliverReportAnswer
    if (answer.type !== 'delivered') continue
    const { invocations, closes } = operation.detail
    const { kind, messageId } = answer
    missed.push({
      ...{ reference, report, invocations, kind },
      ...(messageId !== null && { messageId }),
      ...(closes && { closes }),
    })
  }
  return missed
}

/** The variables of a deferred child did not come in time, unless they came after all. */
export function* expireChild(attempt: Attempt, input: ExpireChildInput): Steps<ExpireChildAnswer> {
  yield
  const { world, activity } = attempt
  const stored = world.thread(input.threadId)
  const id = `expire_${input.requestId}`
  const done = stored.operations.get(id)
  if (done !== undefined) return done.answer as ExpireChildAnswer
  append(stored, takeFacts(stored, input))
  const thread = openThread(attempt, input)
  const answer: ExpireChildAnswer = {
    type: 'expired',
    messageId: thread === null ? null : expired(world, thread, input),
  }
  stored.operations.set(id, { id, state: 'finished', attempt: 1, answer, requested: true, by: activity })
  return answer
}

function expired(world: World, thread: ThreadRow, { requestId, reference }: ExpireChildInput): string | null {
  const request = thread.requests.get(requestId)
  if (request?.state !== 'open') return null
  request.state = 'closed'
  const child = thread.children.get(reference)
  if (child !== undefined) child.closed = true
  const row = world.thread(reference)
  row.closed = 'failed'
  rejectWaiting(row)
  const messageId = `expired:${requestId}`
  const invocations = child === undefined ? [] : [child.callId]
  stage(thread, { id: messageId, role: 'user', by: 'runtime', child: reference, invocations })
  return messageId
}
