import { randomUUID } from 'node:crypto'
import type { DeliverReportAnswer, DeliverReportInput } from '../protocol/end-activities.js'
import { reportOperationId } from '../protocol/ids.js'
import { saveReport } from '../store/children.js'
import type { StoredReport } from '../store/children.js'
import { appendEvents } from '../store/events.js'
import { findOperation, insertOperation } from '../store/operations.js'
import { stageMessage } from '../store/stage-message.js'
import type { Writer } from '../store/store.js'
import { findToolCall } from '../store/tool-calls.js'
import { copyAttachments } from './attachments.js'
import { whileBeating } from './beat.js'
import { microseconds } from './call-model/model-step.js'
import type { ActivityDependencies } from './dependencies.js'
import { failureText, resultText } from './report-text.js'

/**
 * Writes a child's report into its parent's store, files included, before the parent's workflow hears of it (T2). Done
 * once; a parent that is terminated or gone takes none.
 */
export async function deliverReport(
  { store }: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  return whileBeating(() =>
    store.write(async (tx): Promise<DeliverReportAnswer> => {
      const id = reportOperationId(input.report)
      const done = await findOperation(tx, input.threadId, id)
      // Written below: the store's boundary.
      if (done !== null) return done.answer as DeliverReportAnswer
      const answer = await deliver(tx, input)
      const now = microseconds(input)
      await insertOperation(tx, {
        thread_id: input.threadId,
        id,
        kind: 'report',
        state: 'finished',
        attempt: 1,
        answer,
        started_at: now,
        finished_at: now,
      })
      await appendEvents(tx, { threadId: input.threadId, events: input.facts, now })
      return answer
    }),
  )
}

async function deliver(tx: Writer, input: DeliverReportInput): Promise<DeliverReportAnswer> {
  const { parent, threadId: reference, kind, report: number } = input
  const now = microseconds(input)
  const payload = await payloadOf(tx, input)
  const messageId = randomUUID()
  const staged = await stageMessage(tx, {
    id: messageId,
    threadId: parent.threadId,
    role: 'user',
    content: kind === 'result' ? resultText(reference, payload.text) : failureText(reference, payload.text),
    silent: true,
    subagentId: reference,
    createdAt: now,
    sentBy: 'child',
    digest: '',
  })
  if (staged === 'terminated' || staged === 'missing_thread') return { type: 'parent_gone' }
  if (staged !== 'staged') throw new Error(`Expected the parent to take the report, got ${staged}.`)
  const attachments = await copyAttachments(tx, {
    from: reference,
    to: parent.threadId,
    paths: payload.paths,
    now,
  })
  await tx
    .updateTable('messages')
    .set({ attachments: JSON.stringify(attachments) })
    .where('id', '=', messageId)
    .execute()
  const report: StoredReport = { kind, text: payload.text, attachments }
  const status = kind === 'result' ? 'completed' : 'failed'
  await saveReport(tx, { parentThreadId: parent.threadId, reference, number, report, status })
  const type = kind === 'result' ? 'subagent.completed' : 'subagent.failed'
  const scope = { toolCallId: parent.callId, childId: reference, messageId }
  await appendEvents(tx, {
    threadId: parent.threadId,
    events: [{ type, scope, payload: { reference, reason: input.reason } }],
    now,
  })
  return { type: 'delivered', messageId }
}

/** The mapped payload of the session tool; a session that ended otherwise has none, and says why. */
async function payloadOf(
  tx: Writer,
  input: DeliverReportInput,
): Promise<{ readonly text: string; readonly paths: readonly string[] }> {
  const call = input.sessionCall === null ? null : await findToolCall(tx, input.threadId, input.sessionCall)
  const session = call?.session
  if (session == null) return { text: `The session ended without a result (${input.reason}).`, paths: [] }
  return { text: session.message, paths: session.attachments.map(({ path }) => path) }
}
