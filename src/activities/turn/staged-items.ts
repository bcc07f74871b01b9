import { randomUUID } from 'node:crypto'

import type { CallModelInput, DrainItem } from '../../protocol/activities.js'
import { runIdOf } from '../../protocol/ids.js'
import { stageMessage } from '../../store/messages/message-writes.js'
import type { MessageDraft } from '../../store/messages/message-writes.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Reader, Writer } from '../../store/store.js'
import { childrenOfGroup, findChild } from '../../store/threads/children.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { microseconds } from '../scope.js'
import { recordClosedChild } from '../subagents/closed-child.js'
import {
  failureText,
  fittingMembers,
  groupFiles,
  groupText,
  nameOfChild,
  SILENT_END,
} from '../subagents/report-text.js'
import type { GroupMember } from '../subagents/report-text.js'

/**
 * Returns the ids of the rows of this step's items, in their order. Items without a row get one: inline messages of
 * raw signals, children that closed without a report, groups of children. It is idempotent.
 */
export async function stageItems(tx: Writer, input: CallModelInput): Promise<readonly string[]> {
  const ids: string[] = []
  for (const item of input.drain) {
    ids.push(await rowOf(tx, input, item))
  }
  return ids
}

/** An interrupted drain runs again, and must not write a second row for an item (T3). */
async function rowOf(tx: Writer, input: CallModelInput, item: DrainItem): Promise<string> {
  const digest = digestOf(item)
  if (digest === null) return item.id
  const made = await tx
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', input.threadId)
    .where('digest', '=', digest)
    .executeTakeFirst()
  if (made !== undefined) return made.id
  if (item.kind === 'group') return stageGroup(tx, input, { id: item.id, digest })
  const report = item.kind === 'child_closed' ? await findClosedChildRow(tx, input, { item, digest }) : null
  if (report !== null) return report
  const draft = draftOf(input, item, digest)
  if (draft === null) return item.id
  await stageMessage(tx, draft)
  return draft.id
}

type ClosedItem = Extract<DrainItem, { readonly kind: 'child_closed' }>

/**
 * The row of a closed child: that of its last report, if the report never reached the parent; else null.
 */
async function findClosedChildRow(
  tx: Writer,
  input: CallModelInput,
  { item, digest }: { readonly item: ClosedItem; readonly digest: string },
): Promise<string | null> {
  const messageId = await findUnacknowledgedReport(tx, input, item.reference)
  await recordClosed(tx, input, item)
  if (messageId === null) return null
  await tx
    .updateTable('messages')
    .set({ digest })
    .where('thread_id', '=', input.threadId)
    .where('id', '=', messageId)
    .execute()
  return messageId
}

async function recordClosed(
  tx: Writer,
  input: CallModelInput,
  { reference, status }: ClosedItem,
): Promise<void> {
  const { threadId } = input
  const scope = { runId: runIdOf(input.run) }
  await recordClosedChild(tx, { threadId, reference, status, scope, now: microseconds(input) })
}

/** Identifies the row that is written for an item; null: the item has its own row. */
function digestOf(item: DrainItem): string | null {
  // The id of a group is the id of a call, which no other item has.
  if (item.kind === 'group') return `group:${item.id}`
  return item.kind === 'message' && item.inline === undefined ? null : `item:${item.id}`
}

function draftOf(
  input: CallModelInput,
  item: Exclude<DrainItem, { readonly kind: 'group' }>,
  digest: string,
): MessageDraft | null {
  const common = { id: randomUUID(), threadId: input.threadId, createdAt: microseconds(input) }
  if (item.kind === 'child_closed') {
    const content = failureText(item.reference, `It was closed without a report (${item.status}).`)
    const subagentId = item.reference
    return {
      ...common,
      role: 'user',
      content,
      silent: true,
      subagentId,
      sentBy: 'runtime',
      digest,
      brings: { child: { parentThreadId: input.threadId, reference: item.reference } },
    }
  }
  if (item.inline === undefined) return null
  const { content, role, silent } = item.inline
  return { ...common, role, content, silent, sentBy: 'cli', digest }
}

/** All children of a group have ended: one silent message contains their outcomes (T7). */
async function stageGroup(
  tx: Writer,
  input: CallModelInput,
  {
    id: spawnGroupId,
    digest,
  }: Pick<Extract<DrainItem, { readonly kind: 'group' }>, 'id'> & { digest: string },
): Promise<string> {
  const { threadId } = input
  const children = await childrenOfGroup(tx, { parentThreadId: threadId, spawnGroupId })
  const now = microseconds(input)
  const members: GroupMember[] = []
  for (const child of children) {
    members.push(memberOf(child))
    if (child.closed_at !== null || child.report !== null) continue
    const scope = { runId: runIdOf(input.run) }
    await recordClosedChild(tx, { threadId, reference: child.reference, status: 'failed', scope, now })
  }
  const id = randomUUID()
  const { attachments, note } = groupFiles(members)
  const message = {
    id,
    threadId,
    role: 'user',
    content: `${groupText(fittingMembers(members))}${note}`,
    silent: true,
    attachments,
  } as const
  // All were started by one call.
  const [child] = children
  const brings =
    child === undefined ? undefined : { child: { parentThreadId: threadId, reference: child.reference } }
  await stageMessage(tx, { ...message, createdAt: now, sentBy: 'runtime', digest, brings })
  return id
}

/** All children have ended: a child without a report was closed, or has nothing to report. */
function memberOf(child: ChildRecord): GroupMember {
  const { reference, report, status } = child
  const about = { reference, name: nameOfChild(child) }
  if (report !== null)
    return { ...about, outcome: report.kind, text: report.text, attachments: report.attachments }
  if (child.parent_communication === 'explicit' && status === 'completed')
    return { ...about, outcome: 'notice', text: SILENT_END, attachments: [] }
  return { ...about, outcome: 'failure', text: 'It was closed without a report.', attachments: [] }
}

/**
 * The message of a closed child's last report, if the parent's workflow never received it: the child ended before it
 * could send the report, or a Temporal reset removed it from the parent's history (T7). Null if there is none.
 */
async function findUnacknowledgedReport(
  db: Reader,
  { threadId, drain }: CallModelInput,
  reference: string,
): Promise<string | null> {
  const child = await findChild(db, threadId, reference)
  const id = child?.report?.messageId
  // The report is in the queue already, before the close.
  if (child === null || id === undefined || drain.some((item) => item.id === id)) return null
  const row = await findMessage(db, threadId, id)
  if (row === null || row.subagent_id !== reference) return null
  if (row.position === null) return row.status === 'pending' ? id : null
  // A resumable child may owe a later answer; for any other this was the only report.
  return child.resumable ? null : id
}
