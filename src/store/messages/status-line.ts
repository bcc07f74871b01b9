import { randomUUID } from 'node:crypto'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Writer } from '../store.js'
import { appendMessage } from './delivery.js'
import type { Micros } from '../../protocol/time.js'

/** The act of the runtime that a line records. Clients group messages by it; models never receive such a line. */
type StatusKind = 'handoff' | 'run_ended' | 'runtime_tool_invocation'

/** The metadata of a status line. */
export function statusMetadata(
  kind: StatusKind,
  detail: Readonly<Record<string, string>> = {},
): Record<string, unknown> {
  return { status_kind: kind, ...detail }
}

interface StatusLine {
  readonly threadId: string
  readonly kind: StatusKind
  readonly content: string
  readonly detail: Readonly<Record<string, string>>
  readonly scope: EventScope
  readonly run: number
  readonly step: number
  readonly now: Micros
}

/** Appends a status line to the transcript; returns its event. */
export async function appendStatusLine(tx: Writer, line: StatusLine): Promise<Fact> {
  const { threadId, kind, content, detail, scope, run, step, now } = line
  const id = randomUUID()
  await appendMessage(tx, {
    ...{ id, threadId, role: 'system', content, silent: true, metadata: statusMetadata(kind, detail) },
    ...{ createdAt: now, sentBy: 'runtime', run, step },
  })
  return fact('message.created', { role: 'system' }, { ...scope, messageId: id })
}

/** The status line of a tool that code called, not a model. */
export function appendToolInvocation(
  tx: Writer,
  {
    tool,
    toolCallId,
    ...place
  }: Omit<StatusLine, 'kind' | 'content' | 'detail'> & {
    readonly tool: string
    readonly toolCallId: string
  },
): Promise<Fact> {
  const content = `The tool "${tool}" was called by code, not by a model.`
  return appendStatusLine(tx, {
    ...place,
    ...{ kind: 'runtime_tool_invocation', content, detail: { tool, tool_call_id: toolCallId } },
  })
}
