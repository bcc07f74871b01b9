/**
 * The transcript of a thread as messages of the AI SDK, for the first look of a page.
 *
 * Owns: the events that rows stand for. The view of the stream makes chunks of them, so that a transcript and a stream that a page has read
 * are the same messages. Does not own: that view, and the rows (`store/messages/shown-messages.ts`).
 */
import type { JoinedFact } from '../../protocol/events.js'
import { runIdOf } from '../../protocol/ids.js'
import { isObject } from '../../protocol/values.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { lastSequence } from '../../store/events.js'
import { readShownMessages } from '../../store/messages/shown-messages.js'
import type { ShownCall, ShownMessages, ShownRow } from '../../store/messages/shown-messages.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { lastRun } from '../../store/threads/runs.js'
import { applyChunk } from '../../views/ui-messages.js'
import type { UIMessage } from '../../views/ui-messages.js'
import { uiMessageStreamView } from '../../views/ui-message-stream.js'
import type { UIStreamOptions } from '../../views/ui-message-stream.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { withoutSecrets } from '../events/event-page.js'
import { cursorOf } from '../events/follow-events.js'
import { fileUrlsOf } from './file-urls.js'

export interface UIMessagesOptions extends Partial<UIStreamOptions> {
  /** Rows of the transcript, of which a message of the assistant has several. Runs are never cut. @default 200 */
  readonly limit?: number
  /** Of an earlier page: the messages before it. */
  readonly before?: number
}

/** Messages of a thread, for `initialMessages` of `useChat`. */
export interface UIMessages {
  /** The newest ones, in order; those that wait come last. A run under way has its message, as far as it is stored. */
  readonly messages: readonly UIMessage[]
  /** Gets the page before with `uiMessages({ before })`; null: there is none. */
  readonly before: number | null
  /** The place in the log: a stream with `after: cursor` tells of all that has changed since. */
  readonly cursor: string
}

/** Reads the transcript. @throws ThreadNotFoundError */
export async function readUIMessages(
  context: ClientContext,
  threadId: string,
  { limit = 200, before, fileUrl }: UIMessagesOptions,
): Promise<UIMessages> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    // Before the rows: what is written in between comes again in the stream.
    const sequence = await lastSequence(db, threadId)
    const shown = await readShownMessages(db, { threadId, before, limit })
    const last = await lastRun(db, threadId)
    const open = before === undefined && last?.ended_at === null ? last.number : null
    const view = uiMessageStreamView({ fileUrl: fileUrl ?? fileUrlsOf(threadId) })
    const messages = foldEvents(view, eventsOf(shown, open))
    return { messages, before: shown.before, cursor: cursorOf({ sequence, streamed: null }) }
  })
}

function foldEvents(
  view: ReturnType<typeof uiMessageStreamView>,
  events: Iterable<JoinedFact>,
): readonly UIMessage[] {
  const messages: UIMessage[] = []
  let state = view.begin
  for (const event of events) {
    const [next, items] = view.take(state, event)
    state = next
    for (const item of items) {
      const last = messages.at(-1)
      if (item.type === 'user-message') messages.push(item.message)
      else if (item.type === 'start') messages.push({ id: item.messageId, role: 'assistant', parts: [] })
      else if (last !== undefined)
        messages[messages.length - 1] = { ...last, parts: applyChunk(last.parts, item) }
    }
  }
  return messages
}

/** Events as the log of these rows had them, run by run. `open` is the run under way. */
function* eventsOf(shown: ShownMessages, open: number | null): Generator<JoinedFact> {
  let run: number | null = null
  for (const row of shown.rows) {
    if (row.run !== run) {
      yield* endOf(run, open)
      run = row.run
      if (run !== null) yield made('run.started', {}, run)
    }
    yield* eventsOfRow(row, shown)
  }
  if (open === null) return
  if (run !== open && !shown.rows.some((row) => row.run === open)) yield made('run.started', {}, open)
  yield made('model.requested', {}, open)
}

/** A run that has ended has a message, also an empty one; what waits comes behind the message of the run under way. */
function* endOf(run: number | null, open: number | null): Generator<JoinedFact> {
  if (run === null) return
  yield run === open
    ? made('model.requested', {}, run)
    : made('run.completed', { reason: 'stop_on_response' }, run)
}

/** An event of the log, with what the view reads of it. */
function made(
  type: JoinedFact['type'],
  payload: object,
  run: number | null,
  toolCallId?: string,
): JoinedFact {
  const scope = {
    ...(run !== null && { runId: runIdOf(run) }),
    ...(toolCallId !== undefined && { toolCallId }),
  }
  return { type, payload, ...scope } as unknown as JoinedFact
}

function* eventsOfRow({ message, run }: ShownRow, shown: ShownMessages): Generator<JoinedFact> {
  yield made('message.created', { message }, run)
  for (const call of shown.calls)
    if (call.messageId === message.id && call.parentCallId === null) yield* eventsOfCall(call, run, shown)
}

function* eventsOfCall(call: ShownCall, run: number | null, shown: ShownMessages): Generator<JoinedFact> {
  const { requests, children, results } = shown
  const family = new Set(familyOf(call, shown.calls).map(({ id }) => id))
  const within = [
    ...requests
      .filter(({ call_id: id, kind }) => kind === 'approval' && id !== null && family.has(id))
      .map((request) => ({ at: request.requested_at, events: () => eventsOfRequest(request, run, shown) })),
    ...children
      .filter(({ call_id: id }) => id === call.id)
      .map((child) => ({ at: child.created_at, events: () => eventsOfChild(child, run) })),
  ]
  for (const { events } of within.toSorted((one, other) => one.at - other.at)) yield* events()
  if (call.status !== 'open') yield resultOf(call, run, results)
}

/** A call and all that its nested steps have made. */
function familyOf(call: ShownCall, calls: readonly ShownCall[]): readonly ShownCall[] {
  const nested = calls.filter(({ parentCallId }) => parentCallId === call.id)
  return [call, ...nested.flatMap((one) => familyOf(one, calls))]
}

function* eventsOfRequest(
  request: PendingRecord,
  run: number | null,
  { calls, results }: ShownMessages,
): Generator<JoinedFact> {
  const call = calls.find(({ id }) => id === request.call_id)
  if (call === undefined) return
  const { id: requestId, kind, status, approved, reason } = request
  const given = withoutSecrets(call.arguments)
  const asked = { requestId, kind, toolName: call.name, preview: given }
  yield made('action.required', asked, run, call.id)
  if (status === 'open' || (call.startedAt === null && call.status === 'open')) return
  const decision = decisionOf(request)
  yield made('action.resolved', { requestId, kind, decision, reason }, run, call.id)
  const { answer } = request
  if (approved === true && isObject(answer) && answer['arguments'] !== undefined) {
    yield made('permission.resolved', { requestId, changed: true }, run, call.id)
    if (call.startedAt !== null) yield made('tool.started', { name: call.name, preview: given }, run, call.id)
  }
  if (call.parentCallId !== null && call.status !== 'open') yield resultOf(call, run, results)
}

function decisionOf({ status, approved, answer }: PendingRecord): string {
  if (status === 'expired' || status === 'closed') return status
  if (approved !== true && answer !== null) return 'answered'
  return approved === true ? 'approved' : 'denied'
}

function* eventsOfChild(child: ChildRecord, run: number | null): Generator<JoinedFact> {
  const { reference, name, thread_name: threadName, call_id: callId } = child
  const status = child.status_text ?? child.status
  const payload = { reference, name, status, ...(threadName !== null && { threadName }) }
  yield made('subagent.closed', payload, run, callId)
}

function resultOf(call: ShownCall, run: number | null, results: ShownMessages['results']): JoinedFact {
  const result = results.get(call.resultMessageId ?? '')
  const payload = {
    outcome: call.status,
    preview: result?.content ?? null,
    attachments: result?.attachments ?? [],
  }
  return made('tool.result', payload, run, call.id)
}
