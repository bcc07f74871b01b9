import { sql } from 'kysely'
import type { Selectable } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { AttachmentRef, Message } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'
import { HIGHEST_INT } from '../schema.js'
import type { Schema } from '../schema.js'
import type { Reader } from '../store.js'
import type { RunKey } from '../threads/runs.js'
import { messageFromRow } from './message-row.js'
import type { MessageSender } from './message-row.js'

/** The message, whatever its age, depth and status. */
export async function findMessage(db: Reader, threadId: string, id: string): Promise<Message | null> {
  return (await findMessageWithEnd(db, threadId, id))?.message ?? null
}

/** Those of these ids that are there, by their ids and in this order. */
export async function findMessages(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Message>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('id', 'in', [...new Set(ids)])
    .where('thread_id', '=', threadId)
    .execute()
  const byId = new Map(rows.map((row) => [row.id, messageFromRow(row)]))
  return new Map(
    ids.flatMap((id) => {
      const message = byId.get(id)
      return message === undefined ? [] : [[id, message] as const]
    }),
  )
}

/** The same, with its sender, the run that took or made it, and the hook that refused it. */
export async function findMessageWithEnd(
  db: Reader,
  threadId: string,
  id: string,
): Promise<{ message: Message; sentBy: MessageSender; run: number | null; refusedBy: string | null } | null> {
  const row = await db
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', id)
    .where('thread_id', '=', threadId)
    .executeTakeFirst()
  if (row === undefined) return null
  // Written as a `MessageSender`: the store's boundary.
  const sentBy = row.sent_by as MessageSender
  return { message: messageFromRow(row), sentBy, run: row.run, refusedBy: row.refused_by }
}

/** The files of these messages of a thread, by the id of the message; those without files have no entry. */
export async function filesOfMessages(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly AttachmentRef[]>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'attachments'])
    .where('thread_id', '=', threadId)
    .where('id', 'in', [...ids])
    .where('attachments', '<>', '[]')
    .execute()
  // Written by `messageToRow`: the store's boundary.
  return new Map(rows.map(({ id, attachments }) => [id, JSON.parse(attachments) as readonly AttachmentRef[]]))
}

/** Whether the thread has a message of that id, in whatever state. */
export async function isMessageIdTaken(db: Reader, threadId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

/** Everything that a model may see: the top-level messages in order, also silent ones. */
export async function readTranscript(db: Reader, threadId: string): Promise<readonly TranscriptMessage[]> {
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .orderBy('position')
    .execute()
  return rows.map(transcriptMessageFromRow)
}

/** The top-level messages that a model may see. */
export interface Transcript {
  readonly threadId: string
  /** The first position. */
  readonly from: number
  /** Only messages of this run; null: of all runs. */
  readonly run: number | null
}

/** Position and size of a message, to bound a read in advance. */
export interface RowSize {
  readonly position: number
  /** The size of its texts. */
  readonly bytes: number
}

/** The newest messages, newest first, without their texts. */
export async function readRowSizes(
  db: Reader,
  { limit, ...transcript }: Transcript & { readonly limit: number },
): Promise<readonly RowSize[]> {
  const rows = await inTranscript(db, transcript)
    .select(['position', TEXT_BYTES.as('bytes')])
    .orderBy('position', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ position, bytes }) => ({ position: position ?? 0, bytes }))
}

const TEXT_BYTES = sql<number>`coalesce(octet_length(content), 0) + coalesce(octet_length(tool_calls), 0)
  + coalesce(octet_length(answer_parts), 0) + octet_length(attachments)`

/** Whole messages in order. */
export async function readRows(db: Reader, transcript: Transcript): Promise<readonly TranscriptMessage[]> {
  const rows = await inTranscript(db, transcript).selectAll().orderBy('position').execute()
  return rows.map(transcriptMessageFromRow)
}

/** The top-level row at a position, or null. */
export async function findTranscriptRow(
  db: Reader,
  threadId: string,
  position: number,
): Promise<TranscriptMessage | null> {
  const row = await inTranscript(db, { threadId, from: position, run: null })
    .selectAll()
    .where('position', '=', position)
    .executeTakeFirst()
  return row === undefined ? null : transcriptMessageFromRow(row)
}

/** The first message from outside in a run; null if the run began without one. */
export async function readOpening(db: Reader, transcript: Transcript): Promise<TranscriptMessage | null> {
  const row = await inTranscript(db, transcript)
    .selectAll()
    .where('side', 'is', null)
    .where('role', 'in', ['user', 'assistant'])
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : transcriptMessageFromRow(row)
}

/** The number of top-level messages before a position. */
export async function countBefore(db: Reader, threadId: string, position: number): Promise<number> {
  const { count } = await inTranscript(db, { threadId, from: 0, run: null })
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('position', '<', position)
    .executeTakeFirstOrThrow()
  return count
}

function inTranscript(db: Reader, { threadId, from, run }: Transcript) {
  const query = db
    .selectFrom('messages')
    .where('thread_id', '=', threadId)
    .where('position', '>=', from)
    .where('depth', '=', 0)
  return run === null ? query : query.where('run', '=', run)
}

export interface ListMessages {
  readonly threadId: string
  /** @default 100 */
  readonly limit?: number
  /** The number of newest messages to skip; with `after`, of the oldest. @default 0 */
  readonly offset?: number
  /** Only positions below this one, and no queued messages. */
  readonly before?: number
  /** Only positions above this one, starting there, and no queued messages. */
  readonly after?: number
  /** The order of the page; it does not decide which messages are in it. @default 'asc' */
  readonly order?: 'asc' | 'desc'
  /** @default false */
  readonly includeSilent?: boolean
  /** @default 0 */
  readonly maxDepth?: number
}

interface MessagePage {
  readonly messages: readonly Message[]
  /** The number of all messages that match, in the transcript or queued. */
  readonly total: number
  /** Whether there are older messages; with `after`, newer ones. */
  readonly hasMore: boolean
}

/**
 * The newest `limit` messages; with `after`, the oldest ones after that position. Queued ones come last as `pending`, in the
 * order in which their rows were written (`stageMessage`).
 */
export async function listMessages(db: Reader, options: ListMessages): Promise<MessagePage> {
  const limit = wholeNumber(options.limit ?? 100)
  const offset = wholeNumber(options.offset ?? 0)
  const forward = options.after !== undefined
  const queued = forward || options.before !== undefined ? [] : await readQueued(db, options)
  // Newest first: queued messages, then the transcript backwards.
  const newest = queued.toReversed().slice(offset, offset + limit)
  const rest = await readPositioned(db, options, {
    forward,
    offset: Math.max(0, offset - queued.length),
    limit: limit - newest.length + 1,
  })
  const hasMore = newest.length + rest.length > limit || queued.length > offset + limit
  const page = [...newest, ...rest].slice(0, limit)
  const inOrder = forward === (options.order !== 'desc')
  const total = await countMessages(db, options)
  return { messages: inOrder ? page : page.toReversed(), total, hasMore }
}

/** Limits a number to what a database accepts, and does not take as "no limit". */
function wholeNumber(value: number): number {
  return Math.max(0, Math.floor(value))
}

function visibleMessages(db: Reader, { threadId, includeSilent, maxDepth = 0 }: ListMessages) {
  const query = db.selectFrom('messages').where('thread_id', '=', threadId).where('depth', '<=', maxDepth)
  return includeSilent ? query : query.where('silent', '=', 0)
}

async function readQueued(db: Reader, options: ListMessages): Promise<readonly Message[]> {
  const rows = await visibleMessages(db, options)
    .selectAll()
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(messageFromRow)
}

interface Slice {
  readonly forward: boolean
  readonly offset: number
  readonly limit: number
}

async function readPositioned(
  db: Reader,
  options: ListMessages,
  { forward, offset, limit }: Slice,
): Promise<readonly Message[]> {
  let query = visibleMessages(db, options).selectAll().where('position', 'is not', null)
  if (options.before !== undefined)
    query = query.where('position', '<', Math.min(wholeNumber(options.before), HIGHEST_INT))
  if (options.after !== undefined)
    query = query.where('position', '>', Math.min(wholeNumber(options.after), HIGHEST_INT))
  const rows = await query
    .orderBy('position', forward ? 'asc' : 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(messageFromRow)
}

async function countMessages(db: Reader, options: ListMessages): Promise<number> {
  const { count } = await visibleMessages(db, options)
    .select((select) => select.fn.countAll<number>().as('count'))
    .where((where) => where.or([where('position', 'is not', null), where('status', '=', 'pending')]))
    .executeTakeFirstOrThrow()
  return count
}

/** The number of steps of a run in which the model of a side has answered. */
export async function countModelSteps(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<Readonly<Record<Side, number>>> {
  const rows = await db
    .selectFrom('messages')
    .select(['side', (select) => select.fn.count<number>('step').distinct().as('steps')])
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('sent_by', '=', 'model')
    .where('depth', '=', 0)
    .groupBy('side')
    .execute()
  const of = (side: Side): number => rows.find((row) => row.side === side)?.steps ?? 0
  return { a: of('a'), b: of('b') }
}

/** The last visible message with text or files that a model made in that run, of either side. */
export async function findLastReply(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<Message | null> {
  const row = await db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where('silent', '=', 0)
    .where((where) => where.or([where('content', '<>', ''), where('attachments', '<>', '[]')]))
    // Side B writes with the role `user`; a message of a person has no side.
    .where((where) =>
      where.or([
        where('role', '=', 'assistant'),
        where.and([where('role', '=', 'user'), where('side', 'is not', null)]),
      ]),
    )
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : messageFromRow(row)
}

/** At most this many answers are joined: a prompt asks for the rest of a truncated answer a few times only. */
const MOST_PIECES = 50

interface LastAnswer {
  readonly content: string
  /** Whether the last answer is truncated by its limit of length. */
  readonly isCut: boolean
}

/**
 * The last visible top-level answer of either side in a run; null if there is none. A truncated answer is joined with its
 * continuation. An answer with files alone has an empty text.
 */
export async function readLastAnswer(db: Reader, run: RunKey): Promise<LastAnswer | null> {
  const [last, ...before] = await selectAnswersOfRun(db, run)
    .select(['content', 'finish_reason', 'side'])
    .where((where) => where.or([where('content', '<>', ''), where('attachments', '<>', '[]')]))
    .orderBy('position', 'desc')
    .limit(MOST_PIECES)
    .execute()
  if (last === undefined) return null
  const end = before.findIndex((row) => row.finish_reason !== CUT_OFF || row.side !== last.side)
  const pieces = [...before.slice(0, end === -1 ? before.length : end).toReversed(), last]
  return { content: pieces.map(({ content }) => content).join(''), isCut: last.finish_reason === CUT_OFF }
}

/** Paths of the newest files that models made in a run, in order: as many as one message may have. */
export async function listFilesMadeInRun(db: Reader, run: RunKey): Promise<readonly string[]> {
  const rows = await selectAnswersOfRun(db, run)
    .select('attachments')
    .where('sent_by', '=', 'model')
    .where('attachments', '<>', '[]')
    .orderBy('position', 'desc')
    .limit(LIMITS.messageAttachments)
    .execute()
  // Written by `messageToRow`: the store's boundary.
  const files = rows.toReversed().flatMap((row) => JSON.parse(row.attachments) as readonly AttachmentRef[])
  return [...new Set(files.map(({ path }) => path))].slice(-LIMITS.messageAttachments)
}

function selectAnswersOfRun(db: Reader, { threadId, number }: RunKey) {
  return (
    db
      .selectFrom('messages')
      .where('thread_id', '=', threadId)
      .where('run', '=', number)
      .where('depth', '=', 0)
      .where('role', 'in', ['user', 'assistant'])
      // A message from outside has no side.
      .where('side', 'is not', null)
      .where('silent', '=', 0)
      .where('status', '=', 'completed')
  )
}

/** The last failure of a run in the transcript: the error of a tool, or why a model or hook ended the run. */
interface LastFailure {
  /** The name of the tool; null: the failure is of a model or hook. */
  readonly tool: string | null
  readonly text: string
}

export async function findLastFailure(
  db: Reader,
  { threadId, number }: RunKey,
  of: 'tool' | 'model',
): Promise<LastFailure | null> {
  let query = db
    .selectFrom('messages')
    .select(['name', 'content'])
    .where('thread_id', '=', threadId)
    .where('run', '=', number)
    .where('depth', '=', 0)
    .where('content', '<>', '')
  query =
    of === 'tool'
      ? query.where('role', '=', 'tool').where('tool_status', '=', 'error')
      : query.where('role', '=', 'assistant').where('status', '=', 'failed')
  const row = await query.orderBy('position', 'desc').limit(1).executeTakeFirst()
  if (row === undefined || row.content === null) return null
  return { tool: of === 'tool' ? row.name : null, text: row.content }
}

/** A message with the side that made it, null for one from outside, and the run that drained or made it. */
export type TranscriptMessage = Message & {
  readonly side: Side | null
  readonly run: number | null
  readonly answer_parts: string | null
  readonly sent_by: string | null
}

function transcriptMessageFromRow(row: Selectable<Schema['messages']>): TranscriptMessage {
  const { run, answer_parts, sent_by } = row
  return { ...messageFromRow(row), side: row.side as Side | null, run, answer_parts, sent_by }
}
