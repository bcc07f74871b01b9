/** The children of a lost thread, and the calls that they have not answered, from the rows of both. */
import type { DeliverReportAnswer } from '../../protocol/end-activities.js'
import { reportOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ChildReport, ReopenedChild, ReopenedDeferred, ReopenedThread } from '../../protocol/messages.js'
import { deferredChildOf, requestFromRow } from '../calls/requests.js'
import type { PendingRecord } from '../calls/requests.js'
import { findOperation } from '../operations.js'
import type { Reader } from '../store.js'
import type { ChildRecord } from '../threads/children.js'
import type { Micros } from '../../protocol/time.js'
import { toMillis } from '../../protocol/time.js'

type ReopenedChildren = Pick<ReopenedThread, 'open' | 'deferred' | 'groups'>

export async function readReopenedChildren(
  db: Reader,
  threadId: string,
  children: readonly ChildRecord[],
): Promise<ReopenedChildren> {
  const written = await listMessageCalls(db, threadId)
  const open: ReopenedChild[] = []
  for (const child of children)
    if (child.closed_at === null && child.status !== 'deferred')
      open.push(await openChild(db, child, written))
  return {
    // Children with unanswered calls come first, in case the bound leaves some out.
    open: open
      .toSorted((one, other) => Number(other.invocations.length > 0) - Number(one.invocations.length > 0))
      .slice(0, LIMITS.openChildren),
    deferred: await readDeferred(db, threadId, children),
    groups: await readUndeliveredGroups(db, { threadId, children, open }),
  }
}

async function openChild(
  db: Reader,
  { reference, resumable, call_id: callId }: ChildRecord,
  written: readonly GivenCall[],
): Promise<ReopenedChild> {
  const { count, answered } = await readReports(db, reference)
  const given = [callId, ...written.filter((call) => call.reference === reference).map((call) => call.callId)]
  const invocations = given.filter((id) => !answered.has(id)).slice(-LIMITS.invocationsPerChild)
  return { reference, resumable, invocations, reports: count }
}

async function readDeferred(
  db: Reader,
  threadId: string,
  children: readonly ChildRecord[],
): Promise<readonly ReopenedDeferred[]> {
  const waiting = children.filter((child) => child.status === 'deferred' && child.closed_at === null)
  if (waiting.length === 0) return []
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'variables')
    .where('status', '!=', 'closed')
    .execute()
  const requests = rows.map(requestFromRow)
  const deferred: ReopenedDeferred[] = []
  for (const child of waiting) {
    const request = requests.find((candidate) => deferredChildOf(candidate) === child.reference)
    const { message_id: messageId } = child
    if (request !== undefined && messageId !== null) deferred.push(deferredChild(child, request, messageId))
  }
  return deferred.slice(0, LIMITS.openChildren)
}

function deferredChild(
  { reference, agent, resumable, call_id: callId }: ChildRecord,
  { id: requestId, requested_at: at, status }: PendingRecord,
  messageId: string,
): ReopenedDeferred {
  const child = { reference, agent, messageId, resumable }
  return { requestId, callId, child, requestedAt: toMillis(at), supplied: status === 'answered' }
}

interface Groups {
  readonly threadId: string
  readonly children: readonly ChildRecord[]
  readonly open: readonly ReopenedChild[]
}

/** Groups of children whose ends were delivered neither by the result of their call nor by a message. */
async function readUndeliveredGroups(
  db: Reader,
  { threadId, children, open }: Groups,
): Promise<ReopenedThread['groups']> {
  const ids = [...new Set(children.flatMap(({ spawn_group_id: id }) => (id === null ? [] : [id])))]
  const groups: { callId: string; references: readonly string[] }[] = []
  for (const callId of ids) {
    const members = children.filter((child) => child.spawn_group_id === callId)
    if (await isDelivered(db, { threadId, callId, blocking: members.some(({ blocking }) => blocking) }))
      continue
    const owing = open.filter(({ invocations }) => invocations.includes(callId))
    const references = members.map(({ reference }) => reference)
    groups.push({
      callId,
      references: owing.map((child) => child.reference).filter((id) => references.includes(id)),
    })
  }
  return groups.slice(-LIMITS.openChildren)
}

async function isDelivered(
  db: Reader,
  { threadId, callId, blocking }: { threadId: string; callId: string; blocking: boolean },
): Promise<boolean> {
  const message = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('digest', '=', `group:${callId}`)
    .executeTakeFirst()
  if (message !== undefined) return true
  // The call was withdrawn: nothing waits for its group.
  const answer = (await findOperation(db, threadId, callId))?.answer as { readonly type?: string } | null
  if (answer?.type === 'end') return true
  if (!blocking) return false
  const call = await db
    .selectFrom('tool_calls')
    .select('status')
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
    .executeTakeFirst()
  return call?.status === 'succeeded' || call?.status === 'failed'
}

/** A call of the parent, and its message in the child. */
interface GivenCall {
  readonly callId: string
  readonly reference: string
  /** Null: the first message of the child. */
  readonly messageId: string | null
}

/** The calls that sent messages to existing children, in order. */
export async function listMessageCalls(db: Reader, parentThreadId: string): Promise<readonly GivenCall[]> {
  const rows = await db
    .selectFrom('operations')
    .select(['id', 'answer'])
    .where('thread_id', '=', parentThreadId)
    .where('kind', '=', 'tool')
    .where('key', 'is not', null)
    .where('state', '=', 'finished')
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.flatMap(({ id, answer }): readonly GivenCall[] => {
    // Written by prepareMessage: the store's boundary.
    const sent = JSON.parse(answer ?? '{}') as Partial<GivenCall> & { readonly type?: string }
    if (sent.type !== 'message' || sent.reference === undefined) return []
    return [{ callId: id, reference: sent.reference, messageId: sent.messageId ?? null }]
  })
}

/** The reports of a child so far. */
interface Reported {
  /** The number of the last report; 0: none. */
  readonly count: number
  /** The calls that its reports have answered. */
  readonly answered: ReadonlySet<string>
  /** When the last report was stored, in microseconds; 0: never. */
  readonly at: Micros
  /** Null: the last report did not reach the rows of the parent. */
  readonly last: Omit<ChildReport, 'reference'> | null
}

/** Reads the reports of a child from its own operations. */
export async function readReports(db: Reader, reference: string): Promise<Reported> {
  const rows = await db
    .selectFrom('operations')
    .select(['number', 'detail', 'started_at'])
    .where('thread_id', '=', reference)
    .where('kind', '=', 'report')
    .execute()
  const answered = new Set(rows.flatMap(({ detail }) => invocationsIn(detail)))
  const count = Math.max(0, ...rows.map(({ number }) => number ?? 0))
  const at = Math.max(0, ...rows.map((row) => row.started_at))
  return { count, answered, at, last: count === 0 ? null : await readReport(db, reference, count) }
}

function invocationsIn(detail: string | null): readonly string[] {
  // Written by deliverReport: the store's boundary.
  return (JSON.parse(detail ?? '{}') as Partial<ChildReport>).invocations ?? []
}

async function readReport(db: Reader, reference: string, report: number): Promise<Reported['last']> {
  const operation = await findOperation(db, reference, reportOperationId(report))
  const answer = operation?.answer as DeliverReportAnswer | null | undefined
  if (operation === null || answer?.type !== 'delivered') return null
  const { invocations, closes } = operation.detail as Pick<ChildReport, 'invocations' | 'closes'>
  const { kind, messageId } = answer
  return {
    report,
    invocations,
    kind,
    ...(messageId !== null && { messageId }),
    ...(closes === true && { closes }),
  }
}
