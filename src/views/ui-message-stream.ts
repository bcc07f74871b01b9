/**
 * The UI message stream of the AI SDK: a run of ours is one message of the assistant, made of the events that a subscriber gets.
 *
 * Owns: which chunks an event makes, and what begins, steers, waits and ends. Does not own: the shapes (`ui-messages.ts`), an answer while it
 * is written (`ui-message/step-draft.ts`), where a reader begins and ends (`client/ui-messages`), and the messages of people, which this gives as they are.
 *
 * Invariants:
 * - Unlike the views of the log it needs text: the streamed one, and messages whole. So its numbers have no cursor; a reader begins with
 *   `run.started`, and again there after each break.
 * - A step is an answer of the model. Its stored message has the last word: where the text that was streamed is not its beginning, the
 *   step is reset and told again (U1). So each stream of a run ends with the same parts, whatever its reader saw in between (U2).
 * - What a call shows while it runs is a preliminary output, which its result replaces; without one it is taken back (U4).
 * - The text of a prompt that was called as a tool belongs to that call, and is not shown (U3).
 */
import type { ThreadEventOf } from '../protocol/events.js'
import type { AttachmentRef, Message, ProviderPart, ToolCallEntry } from '../protocol/message.js'
import type { JsonValue } from '../protocol/values.js'
import { addDelta, beginDraft, continues, restOfText } from './ui-message/step-draft.js'
import type { Delta, Draft } from './ui-message/step-draft.js'
import type { UIFile, UIFinishReason, UIMessage, UIMessageChunk, UIText } from './ui-messages.js'
import type { View, ViewedFact } from './view.js'

/** A message of a person, with which or before which a run began. `useChat` has it already; a transcript does not. */
interface UIUserMessage {
  readonly type: 'user-message'
  readonly message: UIMessage
}

type UIStreamItem = UIMessageChunk | UIUserMessage

interface Call {
  readonly name: string
  /** The chunks that make its part what it is while it has no result. */
  readonly shown: readonly UIMessageChunk[]
  /** The output that it has reported while it runs, and the number of characters of it that were told. */
  readonly output: { readonly attempt: number; readonly text: string; readonly told: number } | null
  readonly approval: 'none' | 'open' | 'approved' | 'denied'
  /** A person gave other arguments. */
  readonly isChanged: boolean
}

interface UIStreamState {
  /** The run under way. */
  readonly runId: string | null
  /** Whether its message has begun. */
  readonly isStarted: boolean
  readonly isInStep: boolean
  /** The answer that is not stored yet. */
  readonly draft: Draft | null
  readonly calls: Readonly<Record<string, Call>>
  /** The call that runs now. */
  readonly running: string | null
  /** What the last failed answer says. */
  readonly failure: string | null
}

const NOTHING: UIStreamState = {
  ...{ runId: null, isStarted: false, isInStep: false, draft: null, calls: {}, running: null, failure: null },
}

export interface UIStreamOptions {
  /** The address of a file of the thread, for a page. `threadId` is given for a fork that a request of `useChat` has made. */
  readonly fileUrl: (path: string, threadId?: string) => string
}

type Taken = readonly [UIStreamState, readonly UIStreamItem[]]

/** Makes the view. The messages of its events have to be whole. */
export function uiMessageStreamView(options: UIStreamOptions): View<UIStreamState, UIStreamItem> {
  return {
    begin: NOTHING,
    take: (state, event) => takeEvent(state, event, options),
  }
}

/** What ends the stream of a message while its run waits for a person; it goes on in another one. */
export function pauseChunks({ isInStep }: UIStreamState): readonly UIMessageChunk[] {
  return [...(isInStep ? [{ type: 'finish-step' } as const] : []), finish('tool-calls')]
}

function takeEvent(state: UIStreamState, event: ViewedFact, options: UIStreamOptions): Taken {
  switch (event.type) {
    case 'run.started':
      return [{ ...NOTHING, runId: event.runId ?? '' }, []]
    case 'message.created':
      return takeMessage(state, event, options)
    case 'model.requested':
      // So that a page shows at once that something goes on.
      return state.runId === null ? [state, []] : begin(state)
    case 'model.delta':
    case 'reasoning.delta':
    case 'tool.args':
      return takeDelta(state, event)
    case 'run.completed':
      return endRun(state, [], event.payload.reason === 'answer_cut' ? 'length' : 'stop')
    case 'run.failed':
      return endFailed(state, event)
    case 'run.cancelled':
      return endCancelled(state, event.payload.cancelReason ?? event.payload.reason)
    case 'thread.closed':
      return endCancelled(state, event.payload.reason)
    default:
      return state.runId === null ? [state, []] : takeOfCall(state, event, options)
  }
}

/** Adds what follows to what was made before. */
function then([state, items]: Taken, next: (state: UIStreamState) => Taken): Taken {
  const [following, more] = next(state)
  return [following, [...items, ...more]]
}

function begin(state: UIStreamState): Taken {
  if (state.isStarted || state.runId === null) return [state, []]
  return [{ ...state, isStarted: true }, [{ type: 'start', messageId: state.runId }]]
}

function beginStep(state: UIStreamState): Taken {
  const [started, items] = begin(state)
  return [
    { ...started, isInStep: true, running: null },
    [...items, ...(state.isInStep ? [{ type: 'finish-step' } as const] : []), { type: 'start-step' }],
  ]
}

function endStep(state: UIStreamState): Taken {
  return [{ ...state, isInStep: false }, state.isInStep ? [{ type: 'finish-step' }] : []]
}

function takeMessage(
  state: UIStreamState,
  { runId, payload: { message } }: ThreadFact<'message.created'>,
  options: UIStreamOptions,
): Taken {
  if (message === null || message.depth > 0 || message.silent) return [state, []]
  const { id, role, metadata } = message
  if (role === 'user') {
    const parts = partsOf(message, options)
    if (state.isStarted && runId === state.runId)
      return then(endStep(state), (next) => [next, [{ type: 'steering-message', id, parts }]])
    const given = { id, role, ...(metadata !== null && { metadata }), parts }
    return [state, [{ type: 'user-message', message: given }]]
  }
  return role === 'assistant' && state.runId !== null ? takeAnswer(state, message, options) : [state, []]
}

function partsOf(message: Message, options: UIStreamOptions): readonly (UIText | UIFile)[] {
  const { content, attachments } = message
  const texts = content === null || content === '' ? [] : [{ type: 'text', text: content } as const]
  return [...attachments.map((file) => fileOf(file, options)), ...texts]
}

function fileOf({ path, name, mimeType }: AttachmentRef, { fileUrl }: UIStreamOptions): UIFile {
  return { type: 'file', mediaType: mimeType, url: fileUrl(path), filename: name }
}

/** The stored answer of a step: it completes what was streamed, or takes its place (U1). */
function takeAnswer(state: UIStreamState, message: Message, options: UIStreamOptions): Taken {
  const { draft } = state
  const files = message.attachments.map((file) => withoutName(fileOf(file, options)))
  const provided = (message.provider_parts ?? []).flatMap((part, _index, all) => providedOf(part, all))
  const more = [...provided, ...files]
  const calls = callsOf(message)
  const texts = { reasoning: message.reasoning_content ?? '', text: message.content ?? '' }
  const goesOn =
    draft?.messageId === message.id && continues(draft, { ...texts, calls, hasMore: more.length > 0 })
  const opened: Taken = draft === null ? beginStep(state) : [state, goesOn ? [] : [{ type: 'reset-step' }]]
  const inputs = calls.map(({ id, function: { name, arguments: given } }) => inputOf(id, name, given))
  const chunks = [...restOfText(message.id, goesOn ? draft : null, texts), ...more, ...inputs]
  const added = inputs.map((input) => [input.toolCallId, newCall(input)] as const)
  return then(opened, (next) => [
    {
      ...next,
      ...{ draft: null, running: null, calls: { ...next.calls, ...Object.fromEntries(added) } },
      failure: message.status === 'failed' ? texts.text : null,
    },
    chunks,
  ])
}

/** What the provider ran, behind the text of the answer. A call without a result is not shown, and no address but one of the web. */
function providedOf(part: ProviderPart, all: readonly ProviderPart[]): readonly UIMessageChunk[] {
  switch (part.type) {
    case 'call': {
      const isOver = all.some(({ type, id }) => type === 'result' && id === part.id)
      return isOver
        ? [{ ...inputOf(part.id, part.name, ''), input: part.input as JsonValue, providerExecuted: true }]
        : []
    }
    case 'result': {
      if (!all.some(({ type, id }) => type === 'call' && id === part.id)) return []
      const of = { toolCallId: part.id, providerExecuted: true } as const
      if (!part.isError) return [{ type: 'tool-output-available', ...of, output: part.output as JsonValue }]
      return [{ type: 'tool-output-error', ...of, errorText: JSON.stringify(part.output) }]
    }
    case 'source': {
      const { id: sourceId, url, title } = part
      if (!/^https?:/i.test(url)) return []
      return [{ type: 'source-url', sourceId, url, ...(title !== null && { title }) }]
    }
    case 'document': {
      const { id: sourceId, mediaType, title, filename } = part
      return [{ type: 'source-document', sourceId, mediaType, title, ...(filename !== null && { filename }) }]
    }
  }
}

/** The chunk of a file has no name. */
function withoutName({ type, mediaType, url }: UIFile): UIFile {
  return { type, mediaType, url }
}

function newCall(input: UIInput): Call {
  return { name: input.toolName, shown: [input], output: null, approval: 'none', isChanged: false }
}

function callsOf({ tool_calls: calls }: Message): readonly ToolCallEntry[] {
  // Written by the runtime.
  return calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
}

type UIInput = Extract<UIMessageChunk, { readonly type: 'tool-input-available' }>

function inputOf(toolCallId: string, toolName: string, given: string): UIInput {
  return { type: 'tool-input-available', toolCallId, toolName, input: parsed(given), dynamic: true }
}

/** What a model wrote need not be JSON. */
function parsed(text: string): JsonValue {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

function takeDelta(state: UIStreamState, event: Delta): Taken {
  const { messageId, payload } = event
  const { attempt } = payload
  const { runId, running, draft } = state
  if (runId === null || running !== null) return [state, []]
  if (draft?.messageId === messageId && attempt < draft.attempt) return [state, []]
  if (draft?.messageId !== messageId || attempt !== draft.attempt) {
    const opened: Taken = draft === null ? beginStep(state) : [state, [{ type: 'reset-step' }]]
    return then(opened, (next) => takeDelta({ ...next, draft: beginDraft(event) }, event))
  }
  const [next, chunks] = addDelta(draft, event)
  return [{ ...state, draft: next }, chunks]
}

/** Events of calls, and of requests that no call has made. */
function takeOfCall(state: UIStreamState, event: ViewedFact, options: UIStreamOptions): Taken {
  const { toolCallId: id = '' } = event
  const call = state.calls[id]
  switch (event.type) {
    case 'action.required':
      return then(takeBack(state, id), (next) => takeRequest(next, event))
    case 'action.resolved':
      return takeResolution(state, event)
    case 'permission.resolved':
      return event.payload.changed === true ? [withCall(state, id, { isChanged: true }), []] : [state, []]
    case 'tool.started': {
      if (call === undefined) return [state, []]
      const { preview } = event.payload
      const shown = call.isChanged && preview !== null ? [inputOf(id, call.name, preview)] : null
      const begun = shown === null ? state : withCall(state, id, { shown })
      return [{ ...begun, running: id }, shown ?? []]
    }
    case 'tool.output':
      return call === undefined || state.running !== id ? [state, []] : takeOutput(state, call, event)
    case 'tool.progress':
      return call === undefined || state.running !== id ? [state, []] : [state, [progressOf(event, call)]]
    case 'tool.result':
      return call === undefined ? [state, []] : takeResult(state, call, { event, options })
    case 'subagent.spawned':
    case 'subagent.input':
    case 'subagent.status':
    case 'subagent.completed':
    case 'subagent.failed':
    case 'subagent.closed':
      return call === undefined ? [state, []] : [state, [subagentOf(event, id)]]
    default:
      return [state, []]
  }
}

/** An output is told again once it has grown by one part in so many: all that is told of a long one stays a small multiple of it. */
const GROWTH = 16

/** The client shows the text so far as a preliminary result, which each further one replaces. */
function takeOutput(state: UIStreamState, call: Call, event: Live<'tool.output'>): Taken {
  const { toolCallId, payload } = event
  const { attempt, offset } = payload
  const known = call.output
  if (known !== null && attempt < known.attempt) return [state, []]
  const before = known?.attempt === attempt ? known : { attempt, text: '', told: 0 }
  const text = before.text.slice(0, offset) + payload.text
  const isDue = text.length - before.told > before.told / GROWTH
  const output = { attempt, text, told: isDue ? text.length : before.told }
  const told = { type: 'tool-output-available', toolCallId, output: text, preliminary: true } as const
  return [withCall(state, toolCallId, { output }), isDue ? [told] : []]
}

type Live<Type extends 'tool.output' | 'tool.progress'> = Omit<ThreadEventOf<Type>, 'cursor'>

function progressOf({ toolCallId, payload }: Live<'tool.progress'>, { name }: Call): UIMessageChunk {
  const { attempt: _attempt, ...progress } = payload
  const data = { toolCallId, toolName: name, ...progress }
  return { type: 'data-tool-progress', id: toolCallId, data, transient: true }
}

/** A call that ends or waits without a result has no output. */
function takeBack(state: UIStreamState, id: string): Taken {
  const call = state.calls[id]
  if (call === undefined || call.output === null) return [state, []]
  return [withCall(state, id, { output: null }), call.shown]
}

function withCall(state: UIStreamState, id: string, change: Partial<Call>): UIStreamState {
  const call = state.calls[id]
  return call === undefined ? state : { ...state, calls: { ...state.calls, [id]: { ...call, ...change } } }
}

function takeRequest(state: UIStreamState, event: ThreadFact<'action.required'>): Taken {
  const { toolCallId: id } = event
  const { requestId, kind, preview, toolName } = event.payload
  if (kind !== 'approval' || id === undefined) return then(begin(state), (next) => [next, [requestOf(event)]])
  const asked = { type: 'tool-approval-request', approvalId: requestId, toolCallId: id } as const
  if (state.calls[id] !== undefined) return [withCall(state, id, { approval: 'open' }), [asked]]
  // A call of a prompt that was called as a tool.
  const input = inputOf(id, toolName ?? '', preview ?? '')
  const calls = { ...state.calls, [id]: { ...newCall(input), approval: 'open' as const } }
  return [{ ...state, calls }, [input, asked]]
}

type ThreadFact<Type extends ViewedFact['type']> = Extract<ViewedFact, { readonly type: Type }>

function requestOf(event: ThreadFact<'action.required' | 'action.resolved'>): UIMessageChunk {
  const { type, toolCallId, payload } = event
  const { requestId: id, kind } = payload
  const isOpen = type === 'action.required'
  const data = {
    ...{ kind, status: isOpen ? 'open' : payload.decision },
    toolName: isOpen ? payload.toolName : null,
    ...(toolCallId !== undefined && { toolCallId }),
    ...(isOpen && payload.missing !== undefined && { missing: payload.missing }),
    ...(isOpen && payload.connect !== undefined && { connect: payload.connect }),
  }
  return { type: 'data-request', id, data, transient: true }
}

function takeResolution(state: UIStreamState, event: ThreadFact<'action.resolved'>): Taken {
  const { toolCallId: id = '' } = event
  const { requestId, decision, reason } = event.payload
  const call = state.calls[id]
  if (call?.approval !== 'open') return then(begin(state), (next) => [next, [requestOf(event)]])
  // The call ended without an answer, as its result says.
  if (decision === 'closed') return [withCall(state, id, { approval: 'none' }), []]
  // A person may give a result in the place of the call.
  const approved = decision === 'approved' || decision === 'answered'
  const response: UIMessageChunk = {
    ...{ type: 'tool-approval-response', approvalId: requestId, approved },
    ...(reason !== null && { reason }),
  }
  const change = { approval: approved ? 'approved' : 'denied', shown: [...call.shown, response] } as const
  return [withCall(state, id, change), [response]]
}

interface Result {
  readonly event: ThreadFact<'tool.result'>
  readonly options: UIStreamOptions
}

function takeResult(state: UIStreamState, call: Call, { event, options }: Result): Taken {
  const { toolCallId = '', payload } = event
  const { outcome, preview, attachments } = payload
  const chunks = attachments.map((file) => withoutName(fileOf(file, options)))
  const running = state.running === toolCallId ? null : state.running
  const ended = { ...withCall(state, toolCallId, { output: null }), running }
  if (outcome === 'succeeded')
    return [ended, [{ type: 'tool-output-available', toolCallId, output: preview ?? '' }, ...chunks]]
  if (outcome === 'denied' && call.approval === 'denied')
    return [ended, [{ type: 'tool-output-denied', toolCallId }, ...chunks]]
  return [ended, [{ type: 'tool-output-error', toolCallId, errorText: preview ?? outcome }, ...chunks]]
}

type SubagentFact = ThreadFact<Extract<ViewedFact['type'], `subagent.${string}`>>

function subagentOf(event: SubagentFact, toolCallId: string): UIMessageChunk {
  const { reference: threadId, name, threadName } = event.payload
  const data = {
    ...{ threadId, name, status: subagentStatus(event), toolCallId },
    ...(threadName !== undefined && { threadName }),
  }
  return { type: 'data-subagent', id: threadId, data }
}

function subagentStatus(event: SubagentFact): string {
  switch (event.type) {
    case 'subagent.spawned':
    case 'subagent.input':
      return 'running'
    case 'subagent.completed':
      return 'completed'
    case 'subagent.failed':
      return event.payload.reason === 'terminated' ? 'terminated' : 'failed'
    case 'subagent.status':
      return event.payload.status ?? 'running'
    case 'subagent.closed':
      return event.payload.status
  }
}

function endFailed(state: UIStreamState, event: ThreadFact<'run.failed'>): Taken {
  const { reason } = event.payload
  // It goes on when its variables are there, in a run of its own.
  if (reason === 'blocked') return endRun(state, [], 'other')
  const errorText = state.failure ?? `The run has failed: ${reason}.`
  return endRun(state, [{ type: 'error', errorText }], 'error')
}

function endCancelled(state: UIStreamState, reason: string): Taken {
  return state.runId === null ? [state, []] : endRun(state, [{ type: 'abort', reason }], 'interrupted')
}

function endRun(state: UIStreamState, last: readonly UIMessageChunk[], reason: UIFinishReason): Taken {
  if (state.runId === null) return [state, []]
  const undone: readonly UIMessageChunk[] = state.draft === null ? [] : [{ type: 'reset-step' }]
  const begun = then(begin(state), (next) => [next, undone])
  const ended = then(
    then(begun, (next) => takeBack(next, next.running ?? '')),
    endStep,
  )
  return then(ended, () => [NOTHING, [...last, finish(reason)]])
}

function finish(finishReason: UIFinishReason): UIMessageChunk {
  return { type: 'finish', finishReason }
}
