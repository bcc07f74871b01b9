import { createTable } from './create-table.js'
import type { SchemaChanger, Table } from './create-table.js'

const TABLES: Readonly<Record<string, Table>> = {
  threads: {
    columns: {
      id: 'text',
      agent: 'text',
      account: 'text?',
      user_id: 'text?',
      root_thread_id: 'text',
      parent_thread_id: 'text?',
      parent_call_id: 'text?',
      depth: 'int',
      title: 'text?',
      tags: 'text',
      resumable: 'int',
      created_at: 'big',
      last_activity_at: 'big',
      status: 'text',
      status_text: 'text?',
      terminate_requested_at: 'big?',
      terminate_reason: 'text?',
      terminated_at: 'big?',
      closed_at: 'big?',
      last_sequence: 'int',
      last_position: 'int',
      snapshot: 'text?',
      snapshot_at: 'big?',
    },
    key: ['id'],
  },
  messages: {
    columns: {
      id: 'text',
      thread_id: 'text',
      position: 'int?',
      role: 'text',
      content: 'text?',
      name: 'text?',
      tool_calls: 'text?',
      tool_call_id: 'text?',
      created_at: 'big',
      parent_id: 'text?',
      depth: 'int',
      silent: 'int',
      metadata: 'text?',
      status: 'text',
      tool_status: 'text?',
      attachments: 'text',
      reasoning_content: 'text?',
      finish_reason: 'text?',
      prompt: 'text?',
      subagent_id: 'text?',
      side: 'text?',
      sent_by: 'text',
      run: 'int?',
      step: 'int?',
      digest: 'text',
    },
    // A sender's id is its own thread's: the same one elsewhere neither collides nor tells that it is there.
    key: ['thread_id', 'id'],
  },
  tool_calls: {
    columns: {
      thread_id: 'text',
      id: 'text',
      message_id: 'text',
      run: 'int',
      step: 'int',
      call_index: 'int',
      side: 'text',
      name: 'text',
      provider_call_id: 'text',
      arguments: 'text',
      status: 'text',
      error_code: 'text?',
      result_message_id: 'text?',
      session: 'text?',
      started_at: 'big?',
      finished_at: 'big?',
    },
    key: ['thread_id', 'id'],
  },
  operations: {
    columns: {
      thread_id: 'text',
      id: 'text',
      kind: 'text',
      state: 'text',
      attempt: 'int',
      answer: 'text?',
      message_id: 'text?',
      detail: 'text?',
      started_at: 'big',
      finished_at: 'big?',
    },
    key: ['thread_id', 'id'],
  },
  runs: {
    columns: {
      thread_id: 'text',
      number: 'int',
      trigger_kind: 'text',
      started_at: 'big',
      ended_at: 'big?',
      reason: 'text?',
      outcome: 'text?',
      steps: 'int',
      waited: 'big',
      usage: 'text?',
      session: 'text?',
      error: 'text?',
      context: 'text',
    },
    key: ['thread_id', 'number'],
  },
  children: {
    columns: {
      parent_thread_id: 'text',
      reference: 'text',
      call_id: 'text',
      agent: 'text',
      name: 'text',
      title: 'text?',
      description: 'text',
      resumable: 'int',
      blocking: 'int',
      thread_name: 'text?',
      spawn_group_id: 'text?',
      created_at: 'big',
      status: 'text',
      parent_communication: 'text',
      last_report: 'int',
      report: 'text?',
    },
    key: ['parent_thread_id', 'reference'],
  },
  files: {
    columns: {
      thread_id: 'text',
      path: 'text',
      folder: 'text',
      name: 'text',
      mime_type: 'text',
      size: 'big',
      blob: 'text?',
      is_directory: 'int',
      metadata: 'text?',
      width: 'int?',
      height: 'int?',
      created_at: 'big',
      updated_at: 'big',
    },
    key: ['thread_id', 'path'],
  },
  blobs: { columns: { digest: 'text', size: 'big', created_at: 'big' }, key: ['digest'] },
  thread_values: { columns: { thread_id: 'text', key: 'text', value: 'text' }, key: ['thread_id', 'key'] },
  plans: { columns: { digest: 'text', content: 'text', created_at: 'big' }, key: ['digest'] },
  events: {
    columns: {
      id: 'id',
      thread_id: 'text',
      first_sequence: 'int',
      sequence: 'int',
      at: 'big',
      scope: 'text',
      events: 'text',
      writer: 'writer',
    },
  },
  deltas: {
    columns: {
      id: 'id',
      thread_id: 'text',
      message_id: 'text',
      attempt: 'int',
      kind: 'text',
      start_offset: 'int',
      text: 'text',
    },
  },
  errors: {
    columns: { id: 'text', thread_id: 'text?', at: 'big', type: 'text', message: 'text', stack: 'text?' },
    key: ['id'],
  },
}

/** The first schema: tables, keys and the indexes that the reads of `src/store` use. */
export async function createFirstSchema(db: SchemaChanger): Promise<void> {
  for (const [name, table] of Object.entries(TABLES)) await createTable(db, name, table)

  const index = (name: string) => db.schema.createIndex(name)
  await index('threads_by_activity').on('threads').columns(['last_activity_at', 'id']).execute()
  await index('threads_by_parent').on('threads').columns(['parent_thread_id', 'last_activity_at']).execute()
  await index('threads_by_user').on('threads').columns(['user_id', 'last_activity_at']).execute()
  // T3: two deliveries can never share a place.
  await index('messages_by_position').unique().on('messages').columns(['thread_id', 'position']).execute()
  await index('tool_calls_open')
    .on('tool_calls')
    .column('thread_id')
    .where('status' as never, '=', 'open')
    .execute()
  await index('files_by_folder').on('files').columns(['thread_id', 'folder', 'name']).execute()
  await index('events_by_thread').unique().on('events').columns(['thread_id', 'sequence']).execute()
  // For `settledRows` of PostgreSQL; SQLite reads by the id.
  if (db.kind === 'postgres') await index('events_by_writer').on('events').columns(['writer', 'id']).execute()
  await index('deltas_by_thread').on('deltas').columns(['thread_id', 'id']).execute()
  await index('deltas_by_message').on('deltas').columns(['thread_id', 'message_id']).execute()
}
