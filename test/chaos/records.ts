/** Records of a thread as chaos reads them, made by hand. */
import type { checkWrites } from '../../chaos/checks/check-writes.js'
import type { Fact, ThreadRecord } from '../../chaos/checks/thread-record.js'
import type { ModelDeed, ToolDeed } from '../../chaos/desk/deeds.js'
import type { Stamp } from '../../chaos/desk/journal.js'
import type { ReceivedEvent } from '../../chaos/processes/received-event.js'
import type { ThreadHandle } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import { transcriptRow } from '../support/transcript-row.js'

type Row = Partial<Message> & Pick<Message, 'id' | 'role'>

/** The rows are told of, unless the facts are given. */
export function record(rows: readonly Row[], more: Partial<ThreadRecord> = {}): ThreadRecord {
  const whole = rows.map((row, index) => transcriptRow({ position: index + 1, ...row }))
  return {
    threadId: 't',
    agent: 'lead',
    parent: null,
    status: 'idle',
    closed: false,
    rows: whole,
    facts: whole.map(({ id }, index) => fact(index + 1, 'message.created', { messageId: id })),
    ...more,
  }
}

export function user(id: string, content: string): Row {
  return { id, role: 'user', content }
}

export function said(id: string, content: string): Row {
  return { id, role: 'assistant', content }
}

export function called(id: string, name: string, args: Readonly<Record<string, string>> = {}): Row {
  const calls = [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }]
  return { id: `row-${id}`, role: 'assistant', tool_calls: JSON.stringify(calls) }
}

export function result(id: string, status: 'success' | 'error', content: string): Row {
  return { id: `result-${id}`, role: 'tool', tool_call_id: id, tool_status: status, content }
}

export function deed(tool: string, { at }: Stamp): ToolDeed & Stamp {
  return { kind: 'tool', tool, threadId: 't', callId: 'c', key: 'key', attempt: 1, ref: '<c>', pid: 1, at }
}

export function asked(nonce: string, seen: readonly string[], at: number): ModelDeed & Stamp {
  return { kind: 'model', threadId: 't', prompt: 'lead', side: 'a', nonce, seen, results: [], pid: 1, at }
}

export function received(
  line: Partial<ReceivedEvent> & Pick<ReceivedEvent, 'type' | 'sequence'> & Stamp,
): ReceivedEvent & Stamp {
  return {
    threadId: 't',
    way: 'client',
    cursor: '',
    eventId: line.sequence === null ? null : `e${line.sequence}`,
    ...line,
  }
}

export function fact(
  sequence: number,
  type: string,
  scope: { readonly runId?: string; readonly messageId?: string; readonly childId?: string },
  payload: Readonly<Record<string, unknown>> = {},
): Fact {
  const envelope = { cursor: '', timestamp: '', schemaVersion: 1, threadId: 't', eventId: `e${sequence}` }
  return { ...envelope, ...scope, sequence, type, payload } as unknown as Fact
}

export function child(threadId: string, facts: readonly Fact[]): ThreadRecord {
  return { ...record([]), threadId, agent: 'helper', parent: 't', facts }
}

/** A client whose threads have those files. */
export function holding(paths: readonly string[]): Parameters<typeof checkWrites>[0] {
  // That there is something is all that the checks look at.
  return { get: () => ({ statFile: async (path) => (paths.includes(path) ? ({} as never) : null) }) }
}

type History = Awaited<ReturnType<ThreadHandle['workflow']['fetchHistory']>>

export async function historyOf(events: NonNullable<History['events']>): Promise<History> {
  return { events } as History
}

/** What was found, by its kind. */
export function kinds(findings: readonly { readonly kind: string }[]): readonly string[] {
  return findings.map(({ kind }) => kind)
}
