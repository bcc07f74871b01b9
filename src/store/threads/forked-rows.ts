/**
 * The rows of a fork, copied from the thread that it comes from.
 *
 * Owns: which rows a fork gets, as at which time, and the ends of calls that have no result in it. Does not own: who may fork what, and
 * the row of the new thread (`client/forks`).
 *
 * Invariants: a fork holds nothing of its origin but digests of bytes, so that it outlives the deletion of it. It has what the transcript
 * says up to the cut, at the same positions and under the same ids, and no authority: no approval, grant, request, effect or subagent.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { AttachmentRef } from '../../protocol/message.js'
import type { Micros } from '../../protocol/time.js'
import { closeOpenCalls } from '../calls/open-calls.js'
import { copyFile } from '../files/files.js'
import type { Schema } from '../schema.js'
import type { SecretBox } from '../secret-box.js'
import type { Reader, Writer } from '../store.js'
import { putVariable } from './variables.js'

/** A place in a transcript: everything up to it is taken. */
export interface TranscriptCut {
  /** 0: nothing is taken. */
  readonly position: number
  /** The message at that position; null: there is none. */
  readonly messageId: string | null
}

interface ForkedRows {
  readonly from: string
  readonly to: string
  readonly cut: TranscriptCut
  readonly now: Micros
}

/** Copies what a fork has of its origin, in the transaction that inserts the thread `to`. The statements move no content to this process. */
export async function copyForkedRows(tx: Writer, secrets: SecretBox, fork: ForkedRows): Promise<void> {
  await copyMessages(tx, fork)
  await copyCalls(tx, fork)
  await copyBoundaries(tx, fork)
  await copyFiles(tx, fork)
  await copyAll(tx, fork, { name: 'thread_values', columns: VALUES })
  await copyVariables(tx, secrets, fork)
  await closeOpenCalls(tx, { threadId: fork.to, outcome: 'interrupted', now: fork.now })
}

/** The columns of a table, each with `kept`, or with what the fork has in its place. A column that is added to the table is missed here. */
type Columns<Table extends keyof Schema> = Readonly<Record<keyof Schema[Table], string>>

const KEPT = 'kept'
const THREAD = 'thread'

const MESSAGES: Columns<'messages'> = {
  ...{ id: KEPT, thread_id: THREAD, position: KEPT, role: KEPT, content: KEPT, name: KEPT },
  ...{ tool_calls: KEPT, tool_call_id: KEPT, created_at: KEPT, parent_id: KEPT, depth: KEPT, silent: KEPT },
  ...{ metadata: KEPT, status: KEPT, tool_status: KEPT, attachments: KEPT, reasoning_content: KEPT },
  ...{ finish_reason: KEPT, answer_parts: KEPT, prompt: KEPT, subagent_id: KEPT, side: KEPT, sent_by: KEPT },
  ...{ run: KEPT, step: KEPT, digest: KEPT, traceparent: KEPT, run_permissions: KEPT, refused_by: KEPT },
  deliver: KEPT,
}

/** Whether the result of a call is in the fork. */
const HAS_RESULT =
  'exists (select 1 from messages as result where result.thread_id = :to and result.id = source.result_message_id)'

const ended = (column: string, open: string): string =>
  `case when ${HAS_RESULT} then source.${column} else ${open} end`

const CALLS: Columns<'tool_calls'> = {
  ...{ thread_id: THREAD, id: KEPT, message_id: KEPT, run: KEPT, step: KEPT, call_index: KEPT, side: KEPT },
  ...{ name: KEPT, provider_call_id: KEPT, parent_call_id: KEPT, arguments: KEPT },
  ...{ status: ended('status', "'open'"), error_code: ended('error_code', 'null') },
  ...{ result_message_id: ended('result_message_id', 'null'), session: ended('session', 'null') },
  ...{
    failure: ended('failure', 'null'),
    decision: KEPT,
    started_at: KEPT,
    finished_at: ended('finished_at', 'null'),
  },
}

const BOUNDARIES: Omit<Columns<'boundaries'>, 'id'> = {
  ...{ thread_id: THREAD, side: KEPT, position: KEPT, kind: KEPT, operation: KEPT },
  ...{ tokens_before: KEPT, tokens_after: KEPT, detail: KEPT, created_at: KEPT },
}

const FILES: Columns<'files'> = {
  ...{ thread_id: THREAD, path: KEPT, folder: KEPT, name: KEPT, mime_type: KEPT, size: KEPT, blob: KEPT },
  ...{ is_directory: KEPT, metadata: KEPT, width: KEPT, height: KEPT, created_at: KEPT, updated_at: KEPT },
}

const VALUES: Columns<'thread_values'> = { thread_id: THREAD, key: KEPT, value: KEPT }

interface CopiedTable {
  readonly name: keyof Schema
  readonly columns: Readonly<Record<string, string>>
  /** Of `source`. @default all rows */
  readonly where?: RawBuilder<unknown>
}

/** Inserts the rows of a table again, under the id of the fork. */
async function copyAll(
  tx: Writer,
  { from, to }: ForkedRows,
  { name, columns, where = sql`true` }: CopiedTable,
): Promise<void> {
  const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)))
  const values = sql.join(Object.entries(columns).map(([column, value]) => valueOf(column, value, to)))
  const source = sql`from ${sql.table(name)} as source where source.thread_id = ${from} and ${where}`
  await sql`insert into ${sql.table(name)} (${names}) select ${values} ${source}`.execute(tx)
}

function valueOf(name: string, value: string, to: string) {
  if (value === THREAD) return sql`cast(${to} as text)`
  if (value === KEPT) return sql`${sql.ref(`source.${name}`)}`
  const [head = '', ...rest] = value.split(':to')
  return rest.reduce((all, part) => sql`${all}${to}${sql.raw(part)}`, sql`${sql.raw(head)}`)
}

async function copyMessages(tx: Writer, fork: ForkedRows): Promise<void> {
  const where = sql`source.position <= ${fork.cut.position}`
  await copyAll(tx, fork, { name: 'messages', columns: MESSAGES, where })
}

/** A call whose result comes behind the cut is open at first. */
async function copyCalls(tx: Writer, fork: ForkedRows): Promise<void> {
  const where = sql`exists (select 1 from messages as held where held.thread_id = ${fork.to} and held.id = source.message_id)`
  await copyAll(tx, fork, { name: 'tool_calls', columns: CALLS, where })
}

/** Cuts of the context that lie before that of the fork, so that its requests begin as those of the origin (T12). */
async function copyBoundaries(tx: Writer, fork: ForkedRows): Promise<void> {
  const where = sql`source.position <= ${fork.cut.position} order by source.id`
  await copyAll(tx, fork, { name: 'boundaries', columns: BOUNDARIES, where })
}

/**
 * Copies the rows of the files that were there at the cut, with their present content, and of those that the copied messages name. The
 * message behind the cut and its files count: an edited one may name them.
 */
async function copyFiles(tx: Writer, fork: ForkedRows): Promise<void> {
  const { from, to, cut, now } = fork
  const next = await tx
    .selectFrom('messages')
    .select(['created_at', 'attachments'])
    .where('thread_id', '=', from)
    .where('position', '>', cut.position)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
  if (next === undefined) return copyAll(tx, fork, { name: 'files', columns: FILES })
  const last = await tx
    .selectFrom('messages')
    .select(({ fn }) => fn.max('created_at').as('at'))
    .where('thread_id', '=', to)
    .executeTakeFirst()
  const until = Math.max(next.created_at, last?.at ?? 0)
  await copyAll(tx, fork, { name: 'files', columns: FILES, where: sql`source.created_at <= ${until}` })
  const named = await namedFiles(tx, to)
  const late = await lateFiles(tx, { threadId: from, after: until })
  const wanted = new Set([...named, ...pathsIn(next.attachments)])
  for (const path of late)
    if (wanted.has(path))
      await copyFile(tx, { fromThreadId: from, fromPath: path, toThreadId: to, toPath: path, now })
}

async function namedFiles(db: Reader, threadId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('messages')
    .select('attachments')
    .where('thread_id', '=', threadId)
    .where('attachments', '<>', '[]')
    .execute()
  return rows.flatMap(({ attachments }) => pathsIn(attachments))
}

/** Written by `messageToRow`: the store's boundary. */
function pathsIn(attachments: string): readonly string[] {
  return (JSON.parse(attachments) as readonly AttachmentRef[]).map(({ path }) => path)
}

async function lateFiles(
  db: Reader,
  { threadId, after }: { readonly threadId: string; readonly after: Micros },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('files')
    .select('path')
    .where('thread_id', '=', threadId)
    .where('created_at', '>', after)
    .where('is_directory', '=', 0)
    .execute()
  return rows.map(({ path }) => path)
}

/** A secret is bound to its thread, so it is opened and sealed again. @throws StoreError `no_key` */
async function copyVariables(tx: Writer, secrets: SecretBox, { from, to, now }: ForkedRows): Promise<void> {
  const rows = await tx.selectFrom('variables').selectAll().where('thread_id', '=', from).execute()
  for (const { name, type, value, key_id: keyId, for_graph: forGraph } of rows) {
    const text = keyId === null ? value : secrets.open({ value, keyId }, { threadId: from, name })
    const kind = type === 'text' ? 'text' : 'secret'
    const graph = forGraph === 1 ? { forGraph: true as const } : {}
    await putVariable(tx, secrets, { threadId: to, name, value: text, type: kind, now, ...graph })
  }
}

/** What the transcript of a thread says about the place of a message. */
export interface PlaceOfMessage {
  readonly position: number | null
  readonly depth: number
  /** Null: it came from outside. */
  readonly side: string | null
  readonly role: string
}

/** Null: the thread has no such message. */
export async function findPlace(
  db: Reader,
  threadId: string,
  messageId: string,
): Promise<PlaceOfMessage | null> {
  const row = await db
    .selectFrom('messages')
    .select(['position', 'depth', 'side', 'role'])
    .where('thread_id', '=', threadId)
    .where('id', '=', messageId)
    .executeTakeFirst()
  return row ?? null
}

/** The last place in a transcript that is not behind that position; null: of the whole. */
export async function lastPlace(
  db: Reader,
  threadId: string,
  position: number | null,
): Promise<TranscriptCut> {
  const placed = db.selectFrom('messages').select(['position', 'id']).where('thread_id', '=', threadId)
  const within =
    position === null ? placed.where('position', 'is not', null) : placed.where('position', '<=', position)
  const row = await within.orderBy('position', 'desc').limit(1).executeTakeFirst()
  return { position: row?.position ?? 0, messageId: row?.id ?? null }
}

/** The last message of a person in a transcript; null: there is none. */
export async function lastFromOutside(db: Reader, threadId: string): Promise<string | null> {
  const row = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where('role', '=', 'user')
    .where('sent_by', 'in', FROM_OUTSIDE)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? null
}

const FROM_OUTSIDE = ['client', 'cli']

/** The agent that a thread had at a position, as far as its calls and its first event say: of a purged call it is the present one. */
export async function agentAt(
  db: Reader,
  {
    threadId,
    position,
    first,
  }: { readonly threadId: string; readonly position: number; readonly first: string },
): Promise<string> {
  const row = await db
    .selectFrom('operations')
    .innerJoin('messages as result', (join) =>
      join
        .onRef('result.thread_id', '=', 'operations.thread_id')
        .onRef('result.tool_call_id', '=', 'operations.id'),
    )
    .select('operations.answer')
    .where('operations.thread_id', '=', threadId)
    .where('operations.kind', '=', 'tool')
    .where('operations.answer', 'like', '%"hand_off"%')
    .where('result.position', '<=', position)
    .orderBy('result.position', 'desc')
    .limit(1)
    .executeTakeFirst()
  // Written by the activity of the call: the store's boundary.
  const answer = JSON.parse(row?.answer ?? 'null') as HandOffAnswer | null
  const handOff = answer?.operations?.find(({ kind }) => kind === 'hand_off')
  return handOff?.agent ?? first
}

interface HandOffAnswer {
  readonly operations?: readonly { readonly kind: string; readonly agent?: string }[]
}
