import { sql } from 'kysely'

import { findRemoteCall } from './remote-calls.js'
import type { RemoteKey, RemoteRecord } from './remote-calls.js'
import type { Reader } from './store.js'

export interface OpenRemoteCall extends RemoteKey {
  readonly record: RemoteRecord
}

/** Remote calls whose result is not in their thread yet, answered ones too: what they have staged or sealed is needed. */
export async function openRemoteCalls(db: Reader): Promise<readonly OpenRemoteCall[]> {
  const keys = await db
    .selectFrom('tool_calls')
    // As `remoteOperationId` makes them: by the key of operations, of which there are many more than open calls.
    .innerJoin('operations', (join) =>
      join
        .onRef('operations.thread_id', '=', 'tool_calls.thread_id')
        .on('operations.id', '=', sql<string>`${sql.ref('tool_calls.id')} || '_remote'`),
    )
    .select(['tool_calls.thread_id as threadId', 'tool_calls.id as callId'])
    // Written out, not bound: only so SQLite sees that the index of open calls holds them all.
    .where('tool_calls.status', '=', sql.lit('open'))
    .where('operations.kind', '=', 'remote')
    .execute()
  const calls: OpenRemoteCall[] = []
  for (const key of keys) {
    const record = await findRemoteCall(db, key)
    if (record !== null) calls.push({ ...key, record })
  }
  return calls
}

/** Bytes that a call has written and no file names before its result is stored. */
export async function stagedDigests(db: Reader): Promise<ReadonlySet<string>> {
  const calls = await openRemoteCalls(db)
  return new Set(calls.flatMap(({ record }) => Object.values(record.files).map(({ digest }) => digest)))
}
