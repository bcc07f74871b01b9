/**
 * The UI message stream of the AI SDK: a run of ours is one message of the assistant, made of the events that a subscriber gets.
 *
 * Owns: which chunks an event makes, and what begins, steers, waits and ends. Does not own: the shapes (`ui-messages.ts`), where a reader
 * begins and ends (`client/ui-messages`), and the messages of people, which this gives as they are.
 *
 * Invariants:
 * - Unlike the views of the log it needs text: the streamed one, and messages whole. So its numbers have no cursor; a reader begins with
 *   `run.started`, and again there after each break.
 * - A step is an answer of the model. Its stored message has the last word: where the text that was streamed is not its beginning, the
 *   step is reset and told again (U1). So each stream of a run ends with the same parts, whatever its reader saw in between (U2).
 * - The text of a prompt that was called as a tool belongs to that call, and is not shown (U3).
 */
import type { ThreadEventOf } from '../protocol/events.js'
import type { AttachmentRef, Message, ProviderPart, ToolCallEntry } from '../protocol/message.js'
import type { JsonValue } from '../protocol/values.js'
import type { UIFile, UIFinishReason, UIMessage, UIMessageChunk, UIText } from './ui-messages.js'
import type { View, ViewedFact } from './view.js'

/** A message of a person, with which or before which a run began. `useChat` has it already; a transcript does not. */
interface UIUserMessage {
  readonly type: 'user-message'
  readonly message: UIMessage
}

type UIStreamItem = UIMessageChunk | UIUserMessage

interface Draft {
  readonly messageId: string
  readonly attempt: number
  /** As it was streamed. */
  readonly text: string
  readonly reasoning: string
  /** The kinds whose part is open. */
  readonly open: readonly ('text' | 'reasoning')[]
  /** It cannot be continued: a piece is missing, or reasoning came behind text. */
  readonly isBroken: boolean
}

interface Call {
  readonly name: string
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
  /** Text that is not stored yet. */
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
      return takeDelta(state, event, 'text')
    case 'reasoning.delta':
      return takeDelta(state, event, 'reasoning')
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
  const [reasoning, text] = [message.reasoning_content ?? '', message.content ?? '']
  const goesOn = draft?.messageId === message.id && continues(draft, { text, reasoning })
  const known = goesOn ? draft : null
  const opened: Taken = draft === null ? beginStep(state) : [state, goesOn ? [] : [{ type: 'reset-step' }]]
  const calls = callsOf(message)
  const chunks: readonly UIMessageChunk[] = [
    ...restOf('reasoning', message.id, { known, whole: reasoning }),
    ...restOf('text', message.id, { known, whole: text }),
    ...(message.provider_parts ?? []).flatMap((part) => providedOf(part, message.provider_parts ?? [])),
    ...message.attachments.map((file) => withoutName(fileOf(file, options))),
    ...calls.map(({ id, function: { name, arguments: given } }) => inputOf(id, name, given)),
  ]
  const added = calls.map(({ id, function: { name } }) => [id, newCall(name)] as const)
  return then(opened, (next) => [
    {
      ...next,
      ...{ draft: null, running: null, calls: { ...next.calls, ...Object.fromEntries(added) } },
      failure: message.status === 'failed' ? text : null,
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

function newCall(name: string): Call {
  return { name, approval: 'none', isChanged: false }
}

type Texts = Pick<Draft, 'text' | 'reasoning'>

function continues(draft: Draft, { text, reasoning }: Texts): boolean {
  if (draft.isBroken) return false
  const isWhole = draft.text === '' || draft.reasoning === reasoning
  return isWhole && text.startsWith(draft.text) && reasoning.startsWith(draft.reasoning)
}

/** What a part still lacks, and its end. */
function restOf(
  kind: 'text' | 'reasoning',
  messageId: string,
  { known, whole }: { readonly known: Draft | null; readonly whole: string },
): readonly UIMessageChunk[] {
  const id = partId(kind, messageId)
  const shown = known?.[kind] ?? ''
  const isOpen = known?.open.includes(kind) === true
  if (shown === whole) return isOpen ? [{ type: `${kind}-end`, id }] : []
  const delta = { type: `${kind}-delta`, id, delta: whole.slice(shown.length) } as const
  return [
    ...(shown === '' ? [{ type: `${kind}-start`, id } as const] : []),
    delta,
    { type: `${kind}-end`, id },
  ]
}

function partId(kind: 'text' | 'reasoning', messageId: string): string {
  return kind === 'text' ? messageId : `${messageId}:reasoning`
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

type Delta = ThreadEventOf<'model.delta' | 'reasoning.delta'>

function takeDelta(
  state: UIStreamState,
  event: Pick<Delta, 'messageId' | 'payload'>,
  kind: 'text' | 'reasoning',
): Taken {
  const { messageId, payload } = event
  const { attempt, offset } = payload
  const { runId, running, draft } = state
  if (runId === null || running !== null) return [state, []]
  if (draft?.messageId === messageId && attempt < draft.attempt) return [state, []]
  const isSame = draft?.messageId === messageId && attempt === draft.attempt
  if (!isSame) {
    const fresh: Draft = { messageId, attempt, text: '', reasoning: '', open: [], isBroken: false }
    const opened: Taken = draft === null ? beginStep(state) : [state, [{ type: 'reset-step' }]]
    return then(opened, (next) => takeDelta({ ...next, draft: fresh }, event, kind))
  }
  const text = payload.text.slice(Math.max(0, draft[kind].length - offset))
  const isBehind = kind === 'reasoning' && draft.text !== ''
  if (offset > draft[kind].length || isBehind) return [{ ...state, draft: { ...draft, isBroken: true } }, []]
  if (draft.isBroken || text === '') return [state, []]
  const id = partId(kind, messageId)
  const isOver = kind === 'text' && draft.open.includes('reasoning')
  const chunks: readonly UIMessageChunk[] = [
    ...(isOver ? [{ type: 'reasoning-end', id: partId('reasoning', messageId) } as const] : []),
    ...(draft.open.includes(kind) ? [] : [{ type: `${kind}-start`, id } as const]),
    { type: `${kind}-delta`, id, delta: text },
  ]
  return [{ ...state, draft: { ...draft, [kind]: draft[kind] + text, open: [kind] } }, chunks]
}

/** Events of calls, and of requests that no call has made. */
function takeOfCall(state: UIStreamState, event: ViewedFact, options: UIStreamOptions): Taken {
  const { toolCallId: id = '' } = event
  const call = state.calls[id]
  switch (event.type) {
    case 'action.required':
      return takeRequest(state, event)
    case 'action.resolved':
      return takeResolution(state, event)
    case 'permission.resolved':
      return event.payload.changed === true ? [withCall(state, id, { isChanged: true }), []] : [state, []]
    case 'tool.started': {
      if (call === undefined) return [state, []]
      const { preview } = event.payload
      const isOther = call.isChanged && preview !== null
      return [{ ...state, running: id }, isOther ? [inputOf(id, call.name, preview)] : []]
    }
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
  const calls = { ...state.calls, [id]: { ...newCall(toolName ?? ''), approval: 'open' as const } }
  return [{ ...state, calls }, [inputOf(id, toolName ?? '', preview ?? ''), asked]]
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
  }
  return { type: 'data-request', id, data, transient: true }
}

function takeResolution(state: UIStreamState, event: ThreadFact<'action.resolved'>): Taken {
  const { toolCallId: id = '' } = event
  const { requestId, decision, reason } = event.payload
  if (state.calls[id]?.approval !== 'open') return then(begin(state), (next) => [next, [requestOf(event)]])
  // The call ended without an answer, as its result says.
  if (decision === 'closed') return [withCall(state, id, { approval: 'none' }), []]
  // A person may give a result in the place of the call.
  const approved = decision === 'approved' || decision === 'answered'
  const response: UIMessageChunk = {
    ...{ type: 'tool-approval-response', approvalId: requestId, approved },
    ...(reason !== null && { reason }),
  }
  return [withCall(state, id, { approval: approved ? 'approved' : 'denied' }), [response]]
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
  const ended = { ...state, running }
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
  const ended = then(
    then(begin(state), (next) => [next, undone]),
    endStep,
  )
  return then(ended, () => [NOTHING, [...last, finish(reason)]])
}

function finish(finishReason: UIFinishReason): UIMessageChunk {
  return { type: 'finish', finishReason }
}
