import { sql } from 'kysely'
import type { CreateIndexBuilder, CreateTableBuilder, Expression, Kysely } from 'kysely'
import { BUDGET_TABLES } from '../budgets/tables.js'
import { LOGINS } from '../threads/tables.js'
import { WEBHOOK_COLUMNS, WEBHOOK_INDEXES } from '../webhooks/tables.js'

/** The database as a migration sees it. */
type SchemaChanger = Pick<Kysely<unknown>, 'schema' | 'getExecutor'> & {
  readonly kind: 'sqlite' | 'postgres'
}

type Kind = 'id' | 'writer' | 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'

const DATA_TYPES = { text: 'text', int: 'integer', big: 'bigint' } as const

/**
 * `big` is for numbers above 32 bits: times in microseconds and sizes. A `?` marks a nullable column. `writer` is the transaction
 * that wrote the row, set by the database; SQLite has no such column, because its transactions write one after the other.
 */
interface Table {
  readonly columns: Readonly<Record<string, Kind>>
  readonly key?: readonly string[]
}

/** Makes a table with its key. */
async function createTable(db: SchemaChanger, name: string, { columns, key }: Table): Promise<void> {
  let builder: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, kind] of Object.entries(columns)) {
    if (kind === 'writer' && db.kind === 'sqlite') continue
    builder = builder.addColumn(column, dataType(db, kind), (definition) => {
      if (kind === 'writer') return definition.notNull().defaultTo(sql`pg_current_xact_id()`)
      if (kind !== 'id') return kind.endsWith('?') ? definition : definition.notNull()
      const primary = definition.primaryKey()
      return db.kind === 'postgres' ? primary.generatedAlwaysAsIdentity() : primary.autoIncrement()
    })
  }
  if (key !== undefined) builder = builder.addPrimaryKeyConstraint(`${name}_key`, [...key])
  await builder.execute()
}

function dataType(db: SchemaChanger, kind: Kind): 'integer' | 'bigint' | 'text' | Expression<unknown> {
  if (kind === 'writer') return sql`xid8`
  if (kind === 'id') return db.kind === 'postgres' ? 'bigint' : 'integer'
  const type = DATA_TYPES[kind.replace('?', '') as keyof typeof DATA_TYPES]
  // Compared by bytes, as in SQLite: the order of a locale changes with the operating system.
  return type === 'text' && db.kind === 'postgres' ? sql`text collate "C"` : type
}

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
      ...{ terminate_requested_at: 'big?', terminate_reason: 'text?', terminated_at: 'big?' },
      closed_at: 'big?',
      last_sequence: 'int',
      last_position: 'int',
      snapshot: 'text?',
      snapshot_at: 'big?',
      settled: 'text?',
      ...{ permissions: 'text?', budgets: 'text?', origin: 'text?', forked_from: 'text?' },
      ...{ session_state: 'text', metadata: 'text?', workspace_uri: 'text?' },
      ...{ archived_at: 'big?', escalation: 'text?' },
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
      // The parts of an answer, with the provider data that goes back with each part.
      answer_parts: 'text?',
      prompt: 'text?',
      subagent_id: 'text?',
      side: 'text?',
      sent_by: 'text',
      run: 'int?',
      step: 'int?',
      digest: 'text',
      // W3C trace context of the sender: a step is a part of the trace of the message that it takes.
      traceparent: 'text?',
      // Rules for the run that takes the message.
      run_permissions: 'text?',
      refused_by: 'text?',
      deliver: 'text?',
    },
    // Ids of senders are unique within a thread: the same id in another thread neither collides nor reveals that it exists.
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
      parent_call_id: 'text?',
      arguments: 'text',
      status: 'text',
      error_code: 'text?',
      result_message_id: 'text?',
      session: 'text?',
      decision: 'text?',
      failure: 'text?',
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
      run: 'int?',
      step: 'int?',
      side: 'text?',
      number: 'int?',
      key: 'text?',
      state: 'text',
      attempt: 'int',
      // Fences stale attempts: when Temporal scheduled the attempt that holds the operation.
      scheduled_at: 'big?',
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
      cancel_reason: 'text?',
      session: 'text?',
      output: 'text?',
      error: 'text?',
      context: 'text',
      traceparent: 'text?',
      permissions: 'text?',
    },
    key: ['thread_id', 'number'],
  },
  children: {
    columns: {
      parent_thread_id: 'text',
      reference: 'text',
      call_id: 'text',
      message_id: 'text?',
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
      // The text that a child shows; its state is the column above.
      status_text: 'text?',
      parent_communication: 'text',
      last_report: 'int',
      report: 'text?',
      // The side of the child that gets the messages of its parent.
      receives: 'text?',
      closed_at: 'big?',
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
      root_thread_id: 'text',
      first_sequence: 'int',
      sequence: 'int',
      at: 'big',
      scope: 'text',
      events: 'text',
      trace: 'text?',
      writer: 'writer',
    },
  },
  deltas: {
    columns: {
      ...{ id: 'id', thread_id: 'text', message_id: 'text', attempt: 'int' },
      ...{ kind: 'text', start_offset: 'int', text: 'text' },
      ...{ call_id: 'text?', call_name: 'text?', call_offset: 'int?' },
    },
  },
  // `run`: null for all runs.
  stops: { columns: { id: 'id', thread_id: 'text', run: 'int?', operation: 'text?' } },
  workers: { columns: { id: 'text', identity: 'text', beats: 'big' }, key: ['id'] },
  errors: {
    columns: { id: 'text', thread_id: 'text?', at: 'big', type: 'text', message: 'text', stack: 'text?' },
    key: ['id'],
  },
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
      expires_at: 'big?',
    },
    key: ['thread_id', 'id'],
  },
  grants: {
    columns: {
      id: 'text',
      subject: 'text',
      thread_id: 'text?',
      account: 'text?',
      user_id: 'text?',
      tool_name: 'text',
      capabilities: 'text?',
      arguments_digest: 'text?',
      approval: 'text?',
      given_in: 'text',
      request_id: 'text',
      granted_by: 'text?',
      created_at: 'big',
      expires_at: 'big?',
      revoked_at: 'big?',
    },
    key: ['id'],
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
      // The value applies to a child and to all threads that it starts.
      for_graph: 'int',
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
      inventory: 'text',
      updated_at: 'big',
    },
    key: ['name'],
  },
  // An empty text stands for no account, and for no user.
  owner_permissions: {
    columns: { account: 'text', user_id: 'text', permissions: 'text', updated_at: 'big' },
    key: ['account', 'user_id'],
  },
  ...BUDGET_TABLES,
  rate_windows: {
    columns: { account: 'text', kind: 'text', session: 'text', counts: 'text', updated_at: 'big' },
    key: ['account', 'kind', 'session'],
  },
  busy_sessions: {
    columns: { account: 'text', thread_id: 'text', entering: 'int', entered_at: 'big' },
    key: ['account', 'thread_id'],
  },
  commands: {
    columns: { thread_id: 'text', key: 'text', digest: 'text', answer: 'text', at: 'big' },
    key: ['thread_id', 'key'],
  },
  webhooks: { columns: WEBHOOK_COLUMNS, key: ['id'] },
  logins: LOGINS,
  // A list by tag would otherwise read all threads.
  thread_tags: { columns: { tag: 'text', thread_id: 'text' }, key: ['tag', 'thread_id'] },
}

/**
 * The fill factor, in percent, of tables whose rows a step updates: without room in its page an updated row moves to another
 * page, which writes to every index of the table (docs/decisions/0043).
 */
const FILLED = {
  ...{ threads: 50, operations: 70, tool_calls: 70, runs: 70, children: 70 },
  rate_windows: 50,
} as const

/** The first schema: tables, keys and the indexes that the reads of `src/store` use. */
export async function createFirstSchema(db: SchemaChanger): Promise<void> {
  for (const [name, table] of Object.entries(TABLES)) await createTable(db, name, table)
  await createIndexes(db)
  if (db.kind === 'postgres') await createPostgresParts(db)
}

async function createIndexes(db: SchemaChanger): Promise<void> {
  const index: MakeIndex = (name, table, columns) =>
    db.schema
      .createIndex(name)
      .on(table)
      .columns([...columns])
  for (const builder of [...indexesOfThreads(index), ...indexesOfContent(index, db.kind)])
    await builder.execute()
}

type MakeIndex = (name: string, table: string, columns: readonly string[]) => CreateIndexBuilder<string>

/** Of threads and what they start. */
function indexesOfThreads(index: MakeIndex) {
  return [
    index('threads_by_activity', 'threads', ['last_activity_at', 'id']),
    index('threads_by_parent', 'threads', ['parent_thread_id', 'last_activity_at']),
    index('threads_by_root', 'threads', ['root_thread_id', 'last_activity_at']),
    index('threads_by_user', 'threads', ['user_id', 'last_activity_at']),
    index('threads_by_agent', 'threads', ['agent', 'last_activity_at', 'id']),
    index('threads_by_status', 'threads', ['status', 'last_activity_at', 'id']),
    index('threads_by_account', 'threads', ['account', 'last_activity_at', 'id']),
    index('threads_roots', 'threads', ['last_activity_at', 'id']).where(of('parent_thread_id'), 'is', null),
    index('sessions_by_state', 'threads', ['session_state', 'last_activity_at', 'id'])
      .where(of('parent_thread_id'), 'is', null)
      .where(of('archived_at'), 'is', null),
    // Without accounts it has no entry.
    index('sessions_by_account', 'threads', ['account', 'session_state', 'last_activity_at', 'id'])
      .where(of('parent_thread_id'), 'is', null)
      .where(of('archived_at'), 'is', null)
      .where(of('account'), 'is not', null),
    index('threads_active', 'threads', ['root_thread_id']).where(of('session_state'), '=', 'active'),
    index('sessions_by_archival', 'threads', ['archived_at']).where(of('archived_at'), 'is not', null),
    index('sessions_archived', 'threads', ['last_activity_at', 'id']).where(
      of('archived_at'),
      'is not',
      null,
    ),
    index('sessions_escalated', 'threads', ['last_activity_at', 'id']).where(
      of('escalation'),
      'is not',
      null,
    ),
    index('threads_closed', 'threads', ['closed_at']).where(of('closed_at'), 'is not', null),
    index('tags_by_thread', 'thread_tags', ['thread_id']),
    // Each call reads the open children of its thread, which may have thousands of closed ones.
    index('children_by_kind', 'children', ['parent_thread_id', 'resumable', 'created_at', 'reference']),
  ]
}

/** Of what threads hold. */
function indexesOfContent(index: MakeIndex, kind: SchemaChanger['kind']) {
  return [
    // T3: two deliveries can never share a place.
    index('messages_by_position', 'messages', ['thread_id', 'position']).unique(),
    index('tool_calls_open', 'tool_calls', ['thread_id']).where(of('status'), '=', 'open'),
    index('pending_open', 'pending', ['requested_at', 'thread_id']).where(of('status'), '=', 'open'),
    // A limit that is raised is raised for all that wait for it.
    index('pending_budgets', 'pending', ['digest']).where(of('kind'), '=', 'budget'),
    // A call that a person would be asked about looks for those of its thread, tree and user.
    index('grants_by_subject', 'grants', ['subject', 'id']),
    // The deletion of a thread deletes what its runs have used.
    index('spending_by_thread', 'spending', ['thread_id']).where(of('thread_id'), 'is not', null),
    // A request that waits for others looks for those that are over.
    index('spending_holding', 'spending', ['thread_id']).where(of('holding'), '=', 1),
    // The deletion of a thread deletes them, and operators list those of an account.
    index('grants_by_thread', 'grants', ['thread_id']),
    index('grants_by_account', 'grants', ['account', 'id']),
    index('boundaries_by_thread', 'boundaries', ['thread_id', 'side', 'id']),
    // Each start of a process checks whether it has the keys of all secrets.
    index('variables_sealed', 'variables', ['key_id']).where(of('key_id'), 'is not', null),
    index('logins_by_key', 'logins', ['key_id']),
    index('files_by_folder', 'files', ['thread_id', 'folder', 'name']),
    // The sweep looks for blobs that no file names any more.
    index('files_by_blob', 'files', ['blob']),
    index('events_by_thread', 'events', ['thread_id', 'sequence']).unique(),
    // Readers of a tree, in the order of `readAllEvents`.
    index('events_by_root', 'events', ['root_thread_id', ...(kind === 'postgres' ? ['writer'] : []), 'id']),
    ...WEBHOOK_INDEXES.map(({ name, columns }) => index(name, 'webhooks', columns)),
    index('deltas_by_thread', 'deltas', ['thread_id', 'id']),
    index('deltas_by_message', 'deltas', ['thread_id', 'message_id']),
    // An activity in flight reads them, and each end of a run deletes them.
    index('stops_by_thread', 'stops', ['thread_id']),
    // The deletion of a thread deletes its errors.
    index('errors_by_thread', 'errors', ['thread_id']),
  ]
}

/** Kysely types the column of a condition by the schema, which a migration does not have. */
const of = (column: string): never => column as never

/** SQLite needs no commit marks, orders events by their ids, and has no fill factor. */
async function createPostgresParts(db: SchemaChanger): Promise<void> {
  await createTable(db, 'commits', { columns: { id: 'text', committed_at: 'big' }, key: ['id'] })
  await db.schema.createIndex('commits_by_time').on('commits').column('committed_at').execute()
  // `readAllEvents` reads by this index.
  await db.schema.createIndex('events_by_writer').on('events').columns(['writer', 'id']).execute()
  for (const [table, percent] of Object.entries(FILLED))
    await sql`alter table ${sql.table(table)} set (fillfactor = ${sql.lit(percent)})`.execute(db)
}
