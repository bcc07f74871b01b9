/**
 * Items of the Agent Runtime draft, and the references of its events.
 *
 * Owns: the kinds of items that a step, a run or a thread shows, which events begin and end one, and where what is large or of another owner is
 * read. Does not own: the classes of events and their payloads (`agent-runtime.ts`).
 *
 * An item ends once. What has no id of its own has that of its event. A path is one of the HTTP API.
 */
import type { JsonObject } from '../protocol/values.js'
import { payloadOf, textOf } from './view.js'
import type { ViewedFact } from './view.js'

/** What an item is. `evidence_link` names a trace. */
export const ITEM_KINDS = [
  'status',
  'user_message',
  'agent_message',
  'system_message',
  'reasoning',
  'tool_call',
  'approval_request',
  'input_request',
  'file_change',
  'warning',
  'error',
  'evidence_link',
] as const

type ItemKind = (typeof ITEM_KINDS)[number]

/** The beginning or end of an item, as the event of the draft has it. */
interface ItemEvent {
  readonly type: 'item.started' | 'item.completed'
  readonly payload: JsonObject
}

/** The items that begin or end with an event of the log; `reasoned`: the model has thought before it wrote this message. */
export function itemsOf(
  event: ViewedFact,
  { reasoned }: { readonly reasoned: boolean },
): readonly ItemEvent[] {
  switch (event.type) {
    case 'message.created': {
      const thought = item('completed', 'reasoning', `${event.messageId}:reasoning`)
      return [...(reasoned ? [thought] : []), ...messageItem(event)]
    }
    case 'tool.started':
      return [item('started', 'tool_call', event.toolCallId)]
    case 'tool.result':
      return [item('completed', 'tool_call', event.toolCallId)]
    case 'action.required':
      return [item('started', requestKind(event.payload.kind), event.payload.requestId)]
    case 'action.resolved':
      return [item('completed', requestKind(event.payload.kind), event.payload.requestId)]
    case 'file.changed':
      return [item('completed', 'file_change', event.payload.path)]
    case 'thread.status':
      return [item('completed', 'status', event.eventId)]
    case 'runtime.warning':
      return [item('completed', 'warning', event.eventId)]
    case 'hook.failed':
      return event.payload.fails === 'open' ? [item('completed', 'warning', event.eventId)] : []
    case 'runtime.error':
      return [item('completed', 'error', event.eventId)]
    case 'run.failed':
      return [item('completed', 'error', event.eventId), ...traceItem(event)]
    case 'run.completed':
    case 'run.cancelled':
      return traceItem(event)
    default:
      return []
  }
}

function item(state: 'started' | 'completed', kind: ItemKind, itemId: string | undefined): ItemEvent {
  return { type: `item.${state}`, payload: { kind, ...(itemId !== undefined && { itemId }) } }
}

/** A result is the end of its call, whose event says so. */
function messageItem({
  payload,
  messageId,
}: ViewedFact & { readonly type: 'message.created' }): readonly ItemEvent[] {
  const { role } = payload
  if (role === 'tool') return []
  const kind = ({ assistant: 'agent_message', system: 'system_message' } as const)[role as string]
  return [item('completed', kind ?? 'user_message', messageId)]
}

function requestKind(kind: string): ItemKind {
  return kind === 'approval' ? 'approval_request' : 'input_request'
}

/** Who looks into a run afterwards looks into its trace; without telemetry there is none. */
function traceItem({ traceId }: ViewedFact): readonly ItemEvent[] {
  return traceId === undefined ? [] : [item('completed', 'evidence_link', traceId)]
}

function pathOf(threadId: string, ...parts: readonly string[]): string {
  return `/threads/${encodeURIComponent(threadId)}/${parts.map(encodeURIComponent).join('/')}`
}

/**
 * Where to read what an event of the log is about: the whole message, the arguments and the result of a call, a file, an original error, the
 * provider's own id of its answer. `resultPath`: the file with a result that is too long for a message. Undefined: there is nothing more.
 */
export function refsOf(event: ViewedFact, resultPath?: string): JsonObject | undefined {
  const { threadId, toolCallId = '' } = event
  switch (event.type) {
    case 'message.created':
      return messageRefs(event)
    case 'model.completed':
      return event.payload.responseId === undefined ? undefined : { raw: event.payload.responseId }
    case 'tool.started':
      return { inputRef: `${pathOf(threadId, 'decisions')}?toolCallId=${encodeURIComponent(toolCallId)}` }
    case 'tool.result':
      return resultRefs(event, resultPath)
    case 'file.changed':
      return artifactRefs(event)
    default:
      return errorRefs(event)
  }
}

function messageRefs({ threadId, messageId }: ViewedFact): JsonObject {
  return messageId === undefined ? {} : { message: pathOf(threadId, 'messages', messageId) }
}

/** The original error, which operators may read. */
function errorRefs(event: ViewedFact): JsonObject | undefined {
  const id = textOf(payloadOf(event)['errorId'])
  return id === null ? undefined : { raw: `${pathOf(event.threadId, 'errors')}?id=${encodeURIComponent(id)}` }
}

function resultRefs(
  event: ViewedFact & { readonly type: 'tool.result' },
  resultPath: string | undefined,
): JsonObject {
  const { threadId, payload } = event
  const { message } = messageRefs(event)
  const outputRef = resultPath === undefined ? message : fileRef(threadId, resultPath)
  const files = (payload.attachments ?? []).map(({ path }) => fileRef(threadId, path))
  return {
    ...(message !== undefined && { message }),
    ...(outputRef !== undefined && { outputRef }),
    ...errorRefs(event),
    ...(files.length > 0 && { artifacts: files }),
  }
}

function artifactRefs({ threadId, payload }: ViewedFact & { readonly type: 'file.changed' }): JsonObject {
  const { path, change, version } = payload
  return {
    artifactId: path,
    ...(version !== null && { versionId: version }),
    ...(change !== 'deleted' && { readRef: fileRef(threadId, path) }),
  }
}

function fileRef(threadId: string, path: string): string {
  return `${pathOf(threadId, 'files', 'content')}?path=${encodeURIComponent(path)}`
}
