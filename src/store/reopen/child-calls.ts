/** Which calls of a parent a child has been given, and which of them it has answered: as the rows of both say. */
import type { DeliverReportAnswer } from '../../protocol/end-activities.js'
import { numberOfOperation, reportOperationId } from '../../protocol/ids.js'
import type { ChildReport } from '../../protocol/messages.js'
import { findOperation } from '../operations.js'
import type { Reader } from '../store.js'

/** A call of the parent, and the message that it is in the child's store. */
export interface GivenCall {
  readonly callId: string
  readonly reference: string
  /** Null: the child's first message. */
  readonly messageId: string | null
}

/** The calls that wrote to children that were there already, in their order. */
export async function writtenCalls(db: Reader, parentThreadId: string): Promise<readonly GivenCall[]> {
  const rows = await db
    .selectFrom('operations')
    .select(['id', 'answer'])
    .where('thread_id', '=', parentThreadId)
    .where('kind', '=', 'tool')
    .where('state', '=', 'finished')
    .where('answer', 'like', '%"type":"message"%')
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.flatMap(({ id, answer }): readonly GivenCall[] => {
    // Written by prepareMessage: the store's boundary.
    const said = JSON.parse(answer ?? '{}') as Partial<GivenCall> & { readonly type?: string }
    if (said.type !== 'message' || said.reference === undefined) return []
    return [{ callId: id, reference: said.reference, messageId: said.messageId ?? null }]
  })
}

/** What a child has reported so far. */
export interface Reported {
  /** Number of the last report. */
  readonly count: number
  /** The calls that its reports have named. */
  readonly answered: ReadonlySet<string>
  /** When the last one was stored, in microseconds; 0: never. */
  readonly at: number
  /** Null: none reached its parent's store. */
  readonly last: Omit<ChildReport, 'reference'> | null
}

export async function reportsOf(db: Reader, reference: string): Promise<Reported> {
  const rows = await db
    .selectFrom('operations')
    .select(['id', 'detail', 'started_at'])
    .where('thread_id', '=', reference)
    .where('kind', '=', 'report')
    .execute()
  const answered = new Set(rows.flatMap(({ detail }) => namedBy(detail)))
  const count = Math.max(0, ...rows.map(({ id }) => numberOfOperation(id)))
  const at = Math.max(0, ...rows.map((row) => row.started_at))
  return { count, answered, at, last: count === 0 ? null : await reportOf(db, reference, count) }
}

function namedBy(detail: string | null): readonly string[] {
  // Written by deliverReport: the store's boundary.
  return (JSON.parse(detail ?? '{}') as Partial<ChildReport>).invocations ?? []
}

async function reportOf(db: Reader, reference: string, report: number): Promise<Reported['last']> {
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
