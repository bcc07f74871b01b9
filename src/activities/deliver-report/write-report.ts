import { randomUUID } from 'node:crypto'

import type { DeliverReportAnswer, DeliverReportInput } from '../../protocol/end-activities.js'
import type { Fact } from '../../protocol/facts.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { findChildName, saveReport } from '../../store/children.js'
import type { ChildRecord, StoredReport } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import { stageMessage } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { copyAttachments } from '../attachments.js'
import { microseconds } from '../call-model/model-step.js'
import { reportText } from '../report-text.js'
import type { SessionPayload } from './session-payload.js'

interface Reporting {
  readonly input: DeliverReportInput
  /** As the parent's registry knows it; null for a thread that was started by hand. */
  readonly child: ChildRecord | null
  readonly payload: SessionPayload
}

/** Puts into the parent's store what it is to know of the session: at most a message, and the registry in any case. */
export async function writeReport(tx: Writer, reporting: Reporting): Promise<DeliverReportAnswer> {
  const { input, child, payload } = reporting
  if (child?.parent_communication === 'explicit') {
    await register(tx, reporting, null)
    await record(tx, reporting, null)
    return { type: 'delivered', kind: 'notice', messageId: null }
  }
  const { parent, threadId: from } = input
  const now = microseconds(input)
  const attachments = await copyAttachments(tx, { from, to: parent.threadId, paths: payload.paths, now })
  const messageId = isToldWithItsGroup(reporting) ? null : randomUUID()
  await register(tx, reporting, { attachments, messageId })
  if (messageId !== null) await stage(tx, reporting, { attachments, messageId })
  await record(tx, reporting, messageId)
  return { type: 'delivered', kind: payload.kind, messageId }
}

/** The call that started them all is answered once, from the registry; a later session of the child is its own. */
function isToldWithItsGroup({ child, input }: Reporting): boolean {
  return child?.spawn_group_id != null && input.invocations.includes(child.spawn_group_id)
}

/** Nobody asked for anything: the parent's registry says that the child is gone, and nobody reads a message. */
export async function writeClosing(
  tx: Writer,
  { input, child }: Omit<Reporting, 'payload'>,
): Promise<DeliverReportAnswer> {
  const { parent, threadId: reference, report: number } = input
  const now = microseconds(input)
  const status = 'terminated'
  const key = { parentThreadId: parent.threadId, reference }
  await saveReport(tx, { ...key, number, status, closedAt: now })
  const payload = { reference, name: await findChildName(tx, { reference }, child), status }
  const closed: Fact = { type: 'subagent.closed', scope: { childId: reference }, payload }
  await appendEvents(tx, { threadId: parent.threadId, events: [closed], now })
  return { type: 'delivered', kind: 'notice', messageId: null }
}

/** What its parent is told it with. */
interface Means {
  readonly attachments: readonly AttachmentRef[]
  readonly messageId: string | null
}

/** The text of one that says nothing by itself is not kept in its parent's store. */
async function register(tx: Writer, { input, payload }: Reporting, means: Means | null): Promise<void> {
  const { parent, threadId: reference, report: number, closes, reason } = input
  const { kind, text } = payload
  const ended = kind === 'result' ? 'completed' : 'failed'
  await saveReport(tx, {
    ...{ parentThreadId: parent.threadId, reference, number },
    report: means === null ? null : storedReport(input, { kind, text }, means),
    status: reason === 'terminated' ? 'terminated' : ended,
    ...(closes ? { closedAt: microseconds(input) } : {}),
  })
}

/** With what it answers, and where: a parent that never hears of it finds it when it finds the child closed (T7). */
function storedReport(
  { invocations }: DeliverReportInput,
  told: Pick<StoredReport, 'kind' | 'text'>,
  { attachments, messageId }: Means,
): StoredReport {
  return { ...told, attachments, ...(messageId !== null && { messageId }), invocations }
}

/** A report is let into a full queue: a parent may wait for that very one (T7). */
async function stage(
  tx: Writer,
  { input, payload: { kind, text } }: Reporting,
  { attachments, messageId }: { readonly attachments: readonly AttachmentRef[]; readonly messageId: string },
): Promise<void> {
  const { parent, threadId: reference } = input
  const staged = await stageMessage(tx, {
    id: messageId,
    threadId: parent.threadId,
    role: 'user',
    content: reportText({ reference, kind, text, attachments }),
    attachments,
    silent: true,
    subagentId: reference,
    createdAt: microseconds(input),
    sentBy: 'child',
    digest: '',
  })
  if (staged !== 'staged') throw new Error(`Expected the parent to take the report, got ${staged}.`)
}

async function record(
  tx: Writer,
  { input, child, payload: { kind } }: Reporting,
  messageId: string | null,
): Promise<void> {
  const { parent, threadId: reference, reason } = input
  const scope = {
    ...{ toolCallId: parent.callId, childId: reference },
    ...(messageId === null ? {} : { messageId }),
  }
  const type = kind === 'result' ? 'subagent.completed' : 'subagent.failed'
  const name = await findChildName(tx, { reference }, child)
  const ended: Fact = { type, scope, payload: { reference, name, reason } }
  await appendEvents(tx, { threadId: parent.threadId, events: [ended], now: microseconds(input) })
}
