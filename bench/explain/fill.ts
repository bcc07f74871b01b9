import type pg from 'pg'

/** How much is in the database: a thread has a hundred messages, one has as many as a fiftieth of all. */
export interface Amount {
  readonly messages: number
  readonly threads: number
}

/** Of each kind what a team of some size has after some months; texts of 300 bytes. Answers nothing: names are known. */
export async function fill(client: pg.Client, { messages, threads }: Amount): Promise<void> {
  const long = Math.round(messages / 50)
  for (const statement of statements({ messages, threads, long })) await client.query(statement)
  await client.query('vacuum analyze')
}

/** Ids of what was filled in. */
export const FILLED = {
  thread: 't42',
  parent: 't40',
  long: 't0',
  message: 'm4200',
  call: 'call1',
  user: 'user7',
  account: 'account7',
  tag: 'tag7',
  agent: 'agent3',
} as const

const TEXT = "repeat('Lorem ipsum. ', 23)"

/** Thread 0 is the long one; each tenth thread has nine children behind it. */
function statements({ messages, threads, long }: Amount & { readonly long: number }): readonly string[] {
  const short = messages - long
  const threadOf = `'t' || (n % ${threads - 1} + 1)`
  return [
    `insert into threads (id, agent, account, user_id, root_thread_id, parent_thread_id, depth, tags, resumable,
       created_at, last_activity_at, status, closed_at, last_sequence, last_position)
     select 't' || n, 'agent' || n % 10, 'account' || n % 50, 'user' || n % 1000, 't' || (n - n % 10),
       case when n % 10 > 0 then 't' || (n - n % 10) end, least(n % 10, 1), '["tag' || n % 100 || '"]', 1,
       n, n * 1000 + n % 7, case when n % 3 = 0 then 'completed' else 'idle' end,
       case when n % 3 = 0 then n end, 100, 100
     from generate_series(0, ${threads - 1}) n`,
    `insert into thread_tags select 'tag' || n % 100, 't' || n from generate_series(0, ${threads - 1}) n`,
    `insert into children (parent_thread_id, reference, call_id, agent, name, description, resumable, blocking,
       created_at, status, parent_communication, last_report)
     select 't' || (n - n % 10), 't' || n, 'call1', 'agent1', 'name', 'What it does', n % 2, 1, n, 'idle', 'implicit', 0
     from generate_series(0, ${threads - 1}) n where n % 10 > 0`,
    messagesInto(threadOf, `n / ${threads - 1} + 1`, 0, short),
    messagesInto("'t0'", `n - ${short} + 1`, short, messages),
    // Some wait for their place.
    `insert into messages (id, thread_id, role, content, created_at, depth, silent, status, attachments, sent_by, digest)
     select 'q' || n, ${threadOf}, 'user', ${TEXT}, n, 0, 0, 'pending', '[]', 'client', ''
     from generate_series(0, ${Math.round(messages / 1000)}) n`,
    `insert into events (thread_id, root_thread_id, first_sequence, sequence, at, scope, events)
     select thread_id, thread_id, position, position, created_at, '[]', '[["message.created",""]]' from messages where position is not null`,
    `insert into tool_calls (thread_id, id, message_id, run, step, call_index, side, name, provider_call_id, arguments,
       status)
     select ${threadOf}, 'call' || n / ${threads - 1}, 'm' || n, 1, 1, 0, 'a', 'search', '', '{}',
       case when n % 1000 = 0 then 'open' else 'succeeded' end
     from generate_series(0, ${messages / 5}) n`,
    `insert into operations (thread_id, id, kind, state, attempt, started_at)
     select ${threadOf}, 'call' || n / ${threads - 1}, 'tool', 'finished', 1, n from generate_series(0, ${messages / 3}) n`,
    `insert into runs (thread_id, number, trigger_kind, started_at, steps, context)
     select ${threadOf}, n / ${threads - 1}, 'message', n, 3, '{}' from generate_series(0, ${messages / 10}) n`,
    `insert into files (thread_id, path, folder, name, mime_type, size, blob, is_directory, created_at, updated_at)
     select ${threadOf}, '/notes/f' || n, '/notes', 'f' || n, 'text/plain', 3, md5(n::text), 0, n, n
     from generate_series(0, ${messages / 10}) n`,
    `insert into pending (thread_id, id, kind, status, requested_at)
     select ${threadOf}, 'approval_' || n, 'approval', case when n % 20 = 0 then 'open' else 'answered' end, n
     from generate_series(0, ${messages / 50}) n`,
    `insert into effects (thread_id, id, name, args, due_at, created_at, status)
     select ${threadOf}, 'e' || n, 'note', '{}', n, n, 'done' from generate_series(0, ${messages / 50}) n`,
    `insert into variables (thread_id, name, type, value, updated_at)
     select ${threadOf}, 'V' || n, 'text', 'x', n from generate_series(0, ${messages / 50}) n`,
    `insert into deltas (thread_id, message_id, attempt, kind, start_offset, text)
     select ${threadOf}, 'm' || n, 1, 'text', 0, 'some words' from generate_series(0, 5000) n`,
    `insert into agents (name, type, expose_as_tool, updated_at)
     select 'agent' || n, 'ai_human', 0, 1 from generate_series(0, 9) n`,
  ]
}

function messagesInto(thread: string, position: string, from: number, to: number): string {
  return `insert into messages (id, thread_id, position, role, content, created_at, depth, silent, status, attachments,
      sent_by, run, step, side, digest)
    select 'm' || n, ${thread}, ${position}, case when n % 2 = 0 then 'user' else 'assistant' end, ${TEXT}, n, 0,
      (n % 20 = 19)::int, 'completed', '[]', 'client', n / 10 % 10, 1, case when n % 2 = 1 then 'a' end, ''
    from generate_series(${from}, ${to - 1}) n`
}
