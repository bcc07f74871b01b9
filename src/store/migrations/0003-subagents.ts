import { addColumns } from './create-table.js'
import type { SchemaChanger } from './create-table.js'

/**
 * What a parent has to know of children that stay: who in them gets its messages, and whether they are still there. And
 * which values were given to a child for itself and all that it starts.
 */
export async function createSubagentSchema(db: SchemaChanger): Promise<void> {
  await addColumns(db, 'children', {
    receives: 'text?',
    closed_at: 'big?',
    // What a child says of itself decides nothing: its state is another column.
    status_text: 'text?',
  })
  await db.schema
    .alterTable('variables')
    .addColumn('for_graph', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  // A thread with thousands of children that are gone looks, at each call, for the few that stay.
  await db.schema
    .createIndex('children_by_kind')
    .on('children')
    .columns(['parent_thread_id', 'resumable', 'created_at', 'reference'])
    .execute()
  await db.schema
    .createIndex('threads_by_root')
    .on('threads')
    .columns(['root_thread_id', 'last_activity_at'])
    .execute()
}
