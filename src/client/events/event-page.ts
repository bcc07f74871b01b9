import { isDeepStrictEqual } from 'node:util'

import { connectOfRequest } from '../../policy/approval-detail.js'
import { redactFields } from '../../policy/redact-fields.js'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import { SCHEMA_VERSION } from '../../protocol/events.js'
import type { JoinedFact, ThreadEvent } from '../../protocol/events.js'
import type { JoinedMessage, JoinedPayloads } from '../../protocol/event-codes.js'
import type { Message } from '../../protocol/message.js'
import type { ToolProgress } from '../../protocol/payloads/live-text.js'
import type { QueuedItem } from '../../protocol/status.js'
import { eventIdOf, runNumberOf } from '../../protocol/ids.js'
import { utf8Length } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { findRequest } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import type { StoredEvent } from '../../store/event-rows.js'
import { readEvents } from '../../store/events.js'
import { readDeltas } from '../../store/messages/deltas.js'
import type { NewDelta, StoredDelta } from '../../store/messages/deltas.js'
import { listQueuedMessages } from '../../store/messages/queue.js'
import type { QueuedMessage } from '../../store/messages/queue.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { EventOfThread, Reader, Store } from '../../store/store.js'
import { findChild } from '../../store/threads/children.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { findRun } from '../../store/threads/runs.js'
import { threadProgress } from '../../store/threads/threads.js'
import { toMillis } from '../../protocol/time.js'

/** The longest text that is joined to an event, in bytes. */
const JOINED_BYTES = 16 * 1024

/** The number of previews that are delivered with a change of the queue; the snapshot has all of them. */
const QUEUE_PREVIEWS = 50

/** The events of a page, at most 16 KiB each: a subscriber holds one page while its consumer is busy. */
const PAGE = 100

/** The outcome of one read, which all subscribers at the same place share. */
export interface EventPage {
  readonly place: EventPlace
  readonly events: readonly JoinedFact[]
  /** Pieces of the text that streams, in the order of their arrival. */
  readonly deltas: readonly StoredDelta[]
  /** For messages and calls among the events: the first attempt whose deltas are still useful; none is once the message is created or the call has ended. */
  readonly useful: ReadonlyMap<string, number>
  /** True when more events follow. */
  readonly more: boolean
  readonly closed: boolean
}

/** Where the events of a thread come from, as each of them says. */
export interface EventPlace {
  readonly threadId: string
  /** The thread id of the root of its tree. */
  readonly sessionId: string
  /** The id of the store. */
  readonly runtimeId: string
}

interface ReadEventPage extends Pick<EventPlace, 'threadId' | 'runtimeId'> {
  readonly sequence: number
  /** The last delta that was read; null to read no deltas. */
  readonly delta: number | null
  /** So many facts, without the fields that are joined: what depends on stored fields only. @default a page, with them */
  readonly bare?: number
}

/**
 * Reads the deltas before the events, so that every event which precedes a delta is in the page. The events may be newer than
 * the deltas: they may create the message of a delta, or begin another attempt at it. @throws ThreadNotFoundError
 */
export async function readEventPage(db: Reader, read: ReadEventPage): Promise<EventPage> {
  const { threadId, runtimeId, sequence, delta, bare } = read
  const limit = bare ?? PAGE
  const deltas = delta === null ? [] : await readDeltas(db, threadId, delta)
  const progress = await threadProgress(db, threadId)
  if (progress === null) throw new ThreadNotFoundError(threadId)
  const { root: sessionId, lastSequence, closed } = progress
  const place = { threadId, sessionId, runtimeId }
  const stored = lastSequence > sequence ? await readEvents(db, { threadId, after: sequence, limit }) : []
  const events: JoinedFact[] = []
  for (const event of stored) {
    const joined = bare === undefined ? await joinedBy(db, threadId, event) : {}
    events.push(joinEvent(place, event, joined))
  }
  return {
    place,
    events,
    deltas,
    useful: findUsefulAttempts(stored),
    more: stored.length === limit,
    // Read before the events, so that the last event of a closed thread is among them.
    closed,
  }
}

const ENDS_REPORTS: ReadonlySet<string> = new Set(['tool.result', 'action.required'])

function findUsefulAttempts(events: readonly StoredEvent[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>()
  for (const { type, scope, payload } of events) {
    // Nothing that a call has reported while it ran is shown behind its end, or while it waits for a person.
    if (ENDS_REPORTS.has(type) && scope.toolCallId !== undefined) attempts.set(scope.toolCallId, Infinity)
    // It waited for a person before it began.
    if (type === 'tool.started' && scope.toolCallId !== undefined) attempts.delete(scope.toolCallId)
    if (scope.messageId === undefined) continue
    const attempt = payload['attempt']
    if (type === 'model.requested' && typeof attempt === 'number') attempts.set(scope.messageId, attempt)
    if (type === 'message.created') attempts.set(scope.messageId, Infinity)
  }
  return attempts
}

/**
 * Turns a row of the log into an entry of the event table: the wire boundary of events. The log holds ids and small facts
 * only, and the content of an event is joined from other tables of the store.
 */
function joinEvent(place: EventPlace, event: StoredEvent, fields: object): JoinedFact {
  const { type, sequence, at, scope, payload, trace } = event
  const joined = {
    ...scope,
    sequence,
    eventId: eventIdOf(place.threadId, sequence),
    type,
    timestamp: new Date(toMillis(at)).toISOString(),
    schemaVersion: SCHEMA_VERSION,
    ...{ ...place, ...trace },
    payload: { ...payload, ...fields },
  }
  // A writer made the row from a `Fact`. A type or field that a newer version wrote is delivered unchanged.
  return joined as JoinedFact
}

export function toDeltaEvent(
  { messageId, kind, attempt, offset, text, call }: NewDelta,
  { cursor, ...place }: EventPlace & { readonly cursor: string },
): ThreadEvent {
  const event = {
    cursor,
    timestamp: new Date().toISOString(),
    schemaVersion: SCHEMA_VERSION,
    ...place,
  }
  const payload = { attempt, offset, text }
  switch (kind) {
    case 'text':
      return { ...event, type: 'model.delta', messageId, payload }
    case 'reasoning':
      return { ...event, type: 'reasoning.delta', messageId, payload }
    case 'args': {
      if (call === undefined) throw new Error('Expected arguments with their call, got none.')
      const { id: toolCallId, name, offset: start } = call
      return {
        ...{ ...event, type: 'tool.args', messageId, toolCallId },
        payload: { ...payload, offset: start, name },
      }
    }
    case 'output':
      return { ...event, type: 'tool.output', toolCallId: messageId, payload }
    case 'progress': {
      const report = JSON.parse(text) as ToolProgress
      return { ...event, type: 'tool.progress', toolCallId: messageId, payload: { attempt, ...report } }
    }
  }
}

type JoinedType = keyof JoinedPayloads

type Join<Type extends JoinedType> = (
  db: Reader,
  threadId: string,
  event: StoredEvent,
) => Promise<JoinedPayloads[Type]>

/** The functions that join the fields of each type. A type of `JoinedPayloads` without an entry here does not compile. */
const JOINS: { readonly [Type in JoinedType]: Join<Type> } = {
  'thread.status': joinThreadStatus,
  'run.cancelled': joinCancelReason,
  'thread.terminating': joinTermination,
  'message.created': joinMessage,
  'message.updated': joinMessage,
  'queue.changed': joinQueue,
  'tool.started': joinArguments,
  'tool.result': joinResult,
  'action.required': joinRequest,
  'action.resolved': joinReason,
  'hook.started': joinHooked,
  'subagent.spawned': joinChild,
  'subagent.input': joinChild,
  'subagent.status': joinChildStatus,
  'subagent.completed': joinChild,
  'subagent.failed': joinChild,
  'subagent.closed': joinChild,
}

/** An event of any thread as its readers get it, without a cursor. */
export async function joinStored(
  db: Reader,
  { id: runtimeId }: Pick<Store, 'id'>,
  event: EventOfThread,
): Promise<JoinedFact> {
  const { threadId, sessionId } = event
  return joinEvent({ threadId, sessionId, runtimeId }, event, await joinedBy(db, threadId, event))
}

async function joinedBy(db: Reader, threadId: string, event: StoredEvent): Promise<object> {
  return isJoined(event.type) ? JOINS[event.type](db, threadId, event) : {}
}

function isJoined(type: string): type is JoinedType {
  return Object.hasOwn(JOINS, type)
}

type Preview = JoinedPayloads['tool.started']

async function joinThreadStatus(db: Reader, threadId: string): Promise<JoinedPayloads['thread.status']> {
  const thread = await db
    .selectFrom('threads')
    .select('status_text as status')
    .where('id', '=', threadId)
    .executeTakeFirst()
  return { status: thread?.status ?? null }
}

async function joinCancelReason(
  db: Reader,
  threadId: string,
  { scope: { runId } }: StoredEvent,
): Promise<JoinedPayloads['run.cancelled']> {
  const run = runId === undefined ? null : await findRun(db, { threadId, number: runNumberOf(runId) })
  return { cancelReason: run?.cancel_reason ?? null }
}

async function joinTermination(db: Reader, threadId: string): Promise<JoinedPayloads['thread.terminating']> {
  const thread = await db
    .selectFrom('threads')
    .select('terminate_reason as reason')
    .where('id', '=', threadId)
    .executeTakeFirst()
  return { reason: thread?.reason ?? null }
}

async function joinMessage(db: Reader, threadId: string, { scope }: StoredEvent): Promise<JoinedMessage> {
  const { messageId } = scope
  return truncateMessage(messageId === undefined ? null : await findMessage(db, threadId, messageId))
}

async function joinQueue(db: Reader, threadId: string): Promise<JoinedPayloads['queue.changed']> {
  const queued = await listQueuedPreviews(db, threadId, QUEUE_PREVIEWS)
  return { queue: queued.map(({ item, preview }) => ({ ...item, preview })) }
}

async function joinArguments(db: Reader, threadId: string, { scope }: StoredEvent): Promise<Preview> {
  return argumentsOf(db, threadId, scope.toolCallId)
}

/** The longest text that is joined to the event of a hook, of which there are many, in bytes. */
const HOOKED_BYTES = 1024

async function joinHooked(
  db: Reader,
  threadId: string,
  { scope: { toolCallId, messageId } }: StoredEvent,
): Promise<Preview> {
  if (toolCallId !== undefined) return argumentsOf(db, threadId, toolCallId, HOOKED_BYTES)
  const message = messageId === undefined ? null : await findMessage(db, threadId, messageId)
  return previewOf(message?.content ?? null, HOOKED_BYTES)
}

async function argumentsOf(
  db: Reader,
  threadId: string,
  callId: string | null | undefined,
  bytes = JOINED_BYTES,
): Promise<Preview> {
  const call = callId == null ? null : await findToolCall(db, threadId, callId)
  return previewOf(call === null ? null : withoutSecrets(call.arguments), bytes)
}

async function joinResult(
  db: Reader,
  threadId: string,
  { scope: { toolCallId } }: StoredEvent,
): Promise<JoinedPayloads['tool.result']> {
  const call = toolCallId === undefined ? null : await findToolCall(db, threadId, toolCallId)
  const result = call?.result_message_id ? await findMessage(db, threadId, call.result_message_id) : null
  return { ...previewOf(result?.content ?? null), attachments: result?.attachments ?? [] }
}

async function joinRequest(
  db: Reader,
  threadId: string,
  event: StoredEvent,
): Promise<JoinedPayloads['action.required']> {
  const request = await requestOf(db, threadId, event)
  const connect = request === null ? null : connectOfRequest(request)
  return {
    toolName: request?.tool_name ?? null,
    ...(await argumentsOf(db, threadId, request?.call_id)),
    ...(request?.kind === 'variables' && variablesOf(request.detail ?? {})),
    ...(connect !== null && { connect }),
  }
}

function variablesOf({ agent, required, missing }: JsonObject): Partial<JoinedPayloads['action.required']> {
  return {
    ...(typeof agent === 'string' && { agent }),
    ...(Array.isArray(required) && { required: required.map(String) }),
    ...(Array.isArray(missing) && { missing: missing.map(String) }),
  }
}

async function joinReason(
  db: Reader,
  threadId: string,
  event: StoredEvent,
): Promise<JoinedPayloads['action.resolved']> {
  return { reason: (await requestOf(db, threadId, event))?.reason ?? null }
}

async function requestOf(
  db: Reader,
  threadId: string,
  { payload: { requestId } }: StoredEvent,
): Promise<PendingRecord | null> {
  return typeof requestId === 'string' ? findRequest(db, threadId, requestId) : null
}

/** Joins the name of an instance: it is content, so the log does not hold it. */
async function joinChild(
  db: Reader,
  threadId: string,
  event: StoredEvent,
): Promise<JoinedPayloads['subagent.spawned']> {
  return nameOf(await childOf(db, threadId, event))
}

async function joinChildStatus(
  db: Reader,
  threadId: string,
  event: StoredEvent,
): Promise<JoinedPayloads['subagent.status']> {
  const child = await childOf(db, threadId, event)
  return child === null ? {} : { ...nameOf(child), status: child.status_text ?? child.status }
}

async function childOf(
  db: Reader,
  threadId: string,
  { scope: { childId } }: StoredEvent,
): Promise<ChildRecord | null> {
  return childId === undefined ? null : findChild(db, threadId, childId)
}

function nameOf(child: ChildRecord | null): JoinedPayloads['subagent.spawned'] {
  return child?.thread_name == null ? {} : { threadName: child.thread_name }
}

/** As requests show arguments. */
export function withoutSecrets(args: string): string {
  try {
    const value = JSON.parse(args) as JsonValue
    const shown = redactFields(value)
    return isDeepStrictEqual(shown, value) ? args : JSON.stringify(shown)
  } catch (error) {
    // Nothing could be hidden in it.
    if (error instanceof RangeError) return '(nested too deep to be shown)'
    // Broken JSON has no fields.
    return args
  }
}

function previewOf(text: string | null, bytes = JOINED_BYTES): Preview {
  const preview = text === null ? null : truncate(text, bytes)
  return { preview, truncated: preview !== text }
}

function truncateMessage(message: Message | null): JoinedMessage {
  if (message === null) return { message, truncated: false, bytes: 0 }
  const bytes = utf8Length(JSON.stringify(message))
  if (bytes <= JOINED_BYTES) return { message, truncated: false, bytes }
  // The text gets half, so that the message as a whole stays within the bound; truncated JSON would be invalid, so it is
  // dropped.
  const shorter: Message = {
    ...message,
    content: message.content === null ? null : truncate(message.content, JOINED_BYTES / 2),
    reasoning_content: null,
    ...(fits(JSON.stringify(message.provider_parts ?? [])) ? {} : { provider_parts: [] }),
    tool_calls: fits(message.tool_calls) ? message.tool_calls : null,
    metadata: fits(JSON.stringify(message.metadata)) ? message.metadata : null,
  }
  return { message: shorter, truncated: true, bytes }
}

function fits(text: string | null): boolean {
  return text === null || utf8Length(text) <= JOINED_BYTES / 8
}

/** Returns at most that many bytes of a text in UTF-8, whole characters only. */
function truncate(text: string, bytes: number): string {
  const encoded = Buffer.from(text)
  if (encoded.length <= bytes) return text
  let end = bytes
  while (((encoded[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1
  return encoded.subarray(0, end).toString()
}

const PREVIEW_LENGTH = 100

/** An accepted item that waits, as the store has it. */
interface QueuedPreview {
  readonly item: QueuedItem
  readonly preview: string
}

/** Lists the first waiting items in the order in which their rows were written; only the workflow has the order of delivery. */
export async function listQueuedPreviews(
  db: Reader,
  threadId: string,
  limit: number,
): Promise<readonly QueuedPreview[]> {
  const queued = await listQueuedMessages(db, { threadId, length: PREVIEW_LENGTH, limit })
  return queued.map(previewQueuedMessage)
}

/** Previews a row of the queue. The row of a queued tool only holds its call, under whose id the item is known. */
function previewQueuedMessage({ id, text, call, child, createdAt: queuedAt }: QueuedMessage): QueuedPreview {
  if (call === null)
    return { item: { id, kind: child === null ? 'message' : 'report', queuedAt }, preview: text }
  const { name, arguments: args } = call.function
  return { item: { id: call.id, kind: 'tool', queuedAt }, preview: previewCall(name, args) }
}

/** Previews a tool or an effect; the arguments are JSON. */
export function previewCall(name: string, args: string): string {
  return `${name} ${args}`.slice(0, PREVIEW_LENGTH)
}
