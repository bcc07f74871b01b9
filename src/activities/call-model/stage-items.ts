import { randomUUID } from 'node:crypto'
import type { CallModelInput, DrainItem } from '../../protocol/activities.js'
import { runIdOf } from '../../protocol/ids.js'
import { appendMessage } from '../../store/deliver-messages.js'
import { stageMessage } from '../../store/stage-message.js'
import type { MessageDraft } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { untoldReport } from './untold-report.js'
import { recordClosedChild } from '../record-closed-child.js'
import { failureText } from '../report-text.js'
import { microseconds } from './model-step.js'
import { stageGroup } from './stage-group.js'

/**
 * The ids of the rows of this step's items, in their order. Items that came without a row get one: inline messages of raw
 * signals, children that closed without a report, groups of children. Done twice, it makes nothing new.
 */
export async function stageItems(tx: Writer, input: CallModelInput): Promise<readonly string[]> {
  const ids: string[] = []
  for (const item of input.drain) {
    ids.push(await rowOf(tx, input, item))
  }
  return ids
}

/** A drain that was cut without an answer is done again, and must not make a second row of an item (T3). */
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
  const told = item.kind === 'child_closed' ? await closedChildRow(tx, input, { item, digest }) : null
  if (told !== null) return told
  const draft = draftOf(input, item, digest)
  if (draft === null) return item.id
  await stageMessage(tx, draft)
  return draft.id
}

type ClosedItem = Extract<DrainItem, { readonly kind: 'child_closed' }>

/** The row of a report that the child left in the store, untold; null: there is none, and another row says so. */
async function closedChildRow(
  tx: Writer,
  input: CallModelInput,
  { item, digest }: { readonly item: ClosedItem; readonly digest: string },
): Promise<string | null> {
  const told = await untoldReport(tx, input, item.reference)
  await recordClosed(tx, input, item)
  if (told === null) return null
  await tx
    .updateTable('messages')
    .set({ digest })
    .where('thread_id', '=', input.threadId)
    .where('id', '=', told)
    .execute()
  return told
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

/** Marks the row that is made of an item; null: the item's own row is there already. */
function digestOf(item: DrainItem): string | null {
  // Its id is that of a call, and no other item's.
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
    }
  }
  if (item.inline === undefined) return null
  const { content, role, silent } = item.inline
  return { ...common, role, content, silent, sentBy: 'cli', digest }
}

/** The other side's turn had no text, and a request must end with words of the counterpart. */
export async function appendWordlessLine(tx: Writer, input: CallModelInput): Promise<void> {
  const side = input.side === 'a' ? 'b' : 'a'
  await appendMessage(tx, {
    id: randomUUID(),
    threadId: input.threadId,
    role: side === 'a' ? 'assistant' : 'user',
    content: 'The other side ended its turn without words.',
    createdAt: microseconds(input),
    sentBy: 'runtime',
    silent: true,
    side,
    run: input.run,
    step: input.step,
  })
}
