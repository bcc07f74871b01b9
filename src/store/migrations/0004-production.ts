import { sql } from 'kysely'
import { addColumns, createTable } from './create-table.js'
import type { SchemaChanger } from './create-table.js'

/** What many processes need: the trace that a message belongs to, and indexes for lists by account and for sweeps. */
export async function createProductionSchema(db: SchemaChanger): Promise<void> {
  // W3C trace context of the sender: a step is a part of the trace of the message that it takes.
  await addColumns(db, 'messages', { traceparent: 'text?' })
  // The same for all later steps of a run.
  await addColumns(db, 'runs', { traceparent: 'text?' })
  // A list by tag would otherwise read all threads.
  await createTable(db, 'thread_tags', {
    columns: { tag: 'text', thread_id: 'text' },
    key: ['tag', 'thread_id'],
  })
  // PostgreSQL's databases begin with this version.
  if (db.kind === 'sqlite')
    await sql`insert into thread_tags select distinct value, threads.id from threads, json_each(tags)`.execute(
      db,
    )
  const index = (name: string) => db.schema.createIndex(name)
  await index('tags_by_thread').on('thread_tags').column('thread_id').execute()
  await index('threads_by_agent').on('threads').columns(['agent', 'last_activity_at', 'id']).execute()
  await index('threads_by_status').on('threads').columns(['status', 'last_activity_at', 'id']).execute()
  await index('threads_roots')
    .on('threads')
    .columns(['last_activity_at', 'id'])
    .where('parent_thread_id' as never, 'is', null)
    .execute()
  await index('threads_by_account').on('threads').columns(['account', 'last_activity_at', 'id']).execute()
  await index('threads_closed')
    .on('threads')
    .column('closed_at')
    .where('closed_at' as never, 'is not', null)
    .execute()
  // Which blobs no file names any more.
  await index('files_by_blob').on('files').column('blob').execute()
  // Of a thread that is deleted.
  await index('errors_by_thread').on('errors').column('thread_id').execute()
  // SQLite answers for its commits itself.
  if (db.kind === 'sqlite') return
  await createTable(db, 'commits', { columns: { id: 'text', committed_at: 'big' }, key: ['id'] })
  await index('commits_by_time').on('commits').column('committed_at').execute()
}
