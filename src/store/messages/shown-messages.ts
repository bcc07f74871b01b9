/** What a page shows of a transcript: visible rows with the runs, calls, requests and subagents that they are about, whole runs at a time. */
import { requestFromRow } from '../calls/requests.js'
import type { PendingRecord } from '../calls/requests.js'
import type { Message } from '../../protocol/message.js'
import type { Reader } from '../store.js'
import { childrenOfCalls } from '../threads/children.js'
import type { ChildRecord } from '../threads/children.js'
import { messageFromRow } from './message-row.js'
import { findMessages } from './transcript.js'

export interface ShownRow {
  readonly message: Message
  /** The run that drained or made it; null for one that waits. */
  readonly run: number | null
}

export interface ShownCall {
  readonly id: string
  readonly messageId: string
  readonly parentCallId: string | null
  readonly name: string
  readonly arguments: string
  readonly status: string
  readonly resultMessageId: string | null
  readonly startedAt: number | null
}

export interface ShownMessages {
  readonly rows: readonly ShownRow[]
  /** The lowest position; null: there is nothing before it. */
  readonly before: number | null
  /** Calls, those of nested steps too. */
  readonly calls: readonly ShownCall[]
  /** Requests of these calls, oldest first. */
  readonly requests: readonly PendingRecord[]
  /** Subagents that these calls have started. */
  readonly children: readonly ChildRecord[]
  /** Results of calls, by the id of their message. */
  readonly results: ReadonlyMap<string, Message>
}

interface ReadShown {
  readonly threadId: string
  /** Only positions below this one. */
  readonly before: number | undefined
  /** Rows; the run of the first one is read whole. */
  readonly limit: number
}

export async function readShownMessages(db: Reader, shown: ReadShown): Promise<ShownMessages> {
  const { threadId } = shown
  const { rows, before } = await readRows(db, shown)
  const assistant = rows.filter(({ message }) => message.tool_calls !== null)
  const calls = await readCalls(db, threadId, idsOf(assistant.map(({ message }) => message)))
  const ids = calls.map(({ id }) => id)
  const results = calls.flatMap(({ resultMessageId: id }) => id ?? [])
  return {
    ...{ rows, before, calls },
    requests: await readRequests(db, threadId, ids),
    children: await childrenOfCalls(db, { parentThreadId: threadId, callIds: ids }),
    results: await findMessages(db, threadId, results),
  }
}

function idsOf(messages: readonly Message[]): readonly string[] {
  return messages.map(({ id }) => id)
}

function visible(db: Reader, threadId: string) {
  return db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('depth', '=', 0)
    .where('silent', '=', 0)
    .where('role', 'in', ['user', 'assistant'])
}

async function readRows(
  db: Reader,
  { threadId, before, limit }: ReadShown,
): Promise<Pick<ShownMessages, 'rows' | 'before'>> {
  const placed = visible(db, threadId).where('position', 'is not', null)
  const newest = await (before === undefined ? placed : placed.where('position', '<', before))
    .orderBy('position', 'desc')
    .limit(limit + 1)
    .execute()
  const page = newest.slice(0, limit).toReversed()
  const [first] = page
  const rest =
    newest.length <= limit || first?.run == null
      ? []
      : await placed
          .where('run', '=', first.run)
          .where('position', '<', first.position)
          .orderBy('position')
          .execute()
  const queued =
    before !== undefined
      ? []
      : await visible(db, threadId)
          .where('position', 'is', null)
          .where('status', '=', 'pending')
          .where('role', '=', 'user')
          .where('subagent_id', 'is', null)
          .orderBy('created_at')
          .orderBy('id')
          .execute()
  const rows = [...rest, ...page]
  const lowest = rows[0]?.position ?? null
  return {
    rows: [...rows, ...queued].map((row) => ({ message: messageFromRow(row), run: row.run })),
    before: newest.length <= limit ? null : lowest,
  }
}

async function readCalls(
  db: Reader,
  threadId: string,
  messageIds: readonly string[],
): Promise<readonly ShownCall[]> {
  const calls: ShownCall[] = []
  let next = messageIds.length === 0 ? [] : await selectCalls(db, threadId, { message_id: messageIds })
  while (next.length > 0) {
    calls.push(...next)
    next = await selectCalls(db, threadId, { parent_call_id: next.map(({ id }) => id) })
  }
  return calls
}

async function selectCalls(
  db: Reader,
  threadId: string,
  of: { readonly message_id: readonly string[] } | { readonly parent_call_id: readonly string[] },
): Promise<readonly ShownCall[]> {
  const query = db.selectFrom('tool_calls').selectAll().where('thread_id', '=', threadId)
  const chosen =
    'message_id' in of
      ? query.where('message_id', 'in', of.message_id)
      : // What the code of a tool called in place is in no message.
        query.where('parent_call_id', 'in', of.parent_call_id).where('message_id', '<>', '')
  const rows = await chosen.orderBy('run').orderBy('step').orderBy('call_index').execute()
  return rows.map((row) => ({
    ...{ id: row.id, messageId: row.message_id, parentCallId: row.parent_call_id, name: row.name },
    ...{ arguments: row.arguments, status: row.status, resultMessageId: row.result_message_id },
    startedAt: row.started_at,
  }))
}

async function readRequests(
  db: Reader,
  threadId: string,
  callIds: readonly string[],
): Promise<readonly PendingRecord[]> {
  if (callIds.length === 0) return []
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('call_id', 'in', callIds)
    .orderBy('requested_at')
    .orderBy('id')
    .execute()
  return rows.map(requestFromRow)
}
