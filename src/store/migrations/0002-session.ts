import { addColumns, createTable } from './create-table.js'
import type { SchemaChanger, Table } from './create-table.js'

const TABLES: Readonly<Record<string, Table>> = {
  pending: {
    columns: {
      thread_id: 'text',
      id: 'text',
      kind: 'text',
      call_id: 'text?',
      tool_name: 'text?',
      digest: 'text?',
      detail: 'text?',
      status: 'text',
      requested_at: 'big',
      answered_at: 'big?',
      answered_by: 'text?',
      approved: 'int?',
      reason: 'text?',
      answer: 'text?',
      answer_digest: 'text?',
    },
    key: ['thread_id', 'id'],
  },
  effects: {
    columns: {
      thread_id: 'text',
      id: 'text',
      name: 'text',
      args: 'text',
      due_at: 'big',
      created_at: 'big',
      status: 'text',
      finished_at: 'big?',
      error: 'text?',
    },
    key: ['thread_id', 'id'],
  },
  variables: {
    columns: {
      thread_id: 'text',
      name: 'text',
      type: 'text',
      value: 'text',
      key_id: 'text?',
      updated_at: 'big',
    },
    key: ['thread_id', 'name'],
  },
  boundaries: {
    columns: {
      id: 'id',
      thread_id: 'text',
      side: 'text',
      position: 'int',
      kind: 'text',
      operation: 'text',
      tokens_before: 'int?',
      tokens_after: 'int?',
      detail: 'text?',
      created_at: 'big',
    },
  },
  agents: {
    columns: {
      name: 'text',
      type: 'text',
      title: 'text?',
      description: 'text?',
      icon: 'text?',
      expose_as_tool: 'int',
      updated_at: 'big',
    },
    key: ['name'],
  },
}

/** Requests to people, delayed work, variables, cuts of the context, and the agents that workers run. */
export async function createSessionSchema(db: SchemaChanger): Promise<void> {
  for (const [name, table] of Object.entries(TABLES)) await createTable(db, name, table)

  const index = (name: string) => db.schema.createIndex(name)
  await index('pending_open')
    .on('pending')
    .columns(['requested_at', 'thread_id'])
    .where('status' as never, '=', 'open')
    .execute()
  await index('boundaries_by_thread').on('boundaries').columns(['thread_id', 'side', 'id']).execute()
  // Whether a process has the keys of all secrets is asked at each start.
  await index('variables_sealed')
    .on('variables')
    .column('key_id')
    .where('key_id' as never, 'is not', null)
    .execute()
  // The call that a nested call was made for.
  await addColumns(db, 'tool_calls', { parent_call_id: 'text?' })
  // The parts of an answer, with what its provider wants back with each.
  await addColumns(db, 'messages', { answer_parts: 'text?' })
}
