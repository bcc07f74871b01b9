/**
 * A message while it is written, in the words of AG-UI.
 *
 * Owns: when its text, reasoning and calls open and close, and what becomes of a text that an answer was called again for. Does not own: what
 * else a run says (`ag-ui.ts`).
 * Invariants: what is opened is closed, and a text is open once; AG-UI cannot take words back, so what was said of an attempt that does
 * not count is removed by a snapshot, and then said anew under the same id.
 */
import type { Message, ToolCallEntry } from '../../protocol/message.js'
import type { AgUiEvent } from './events.js'
import { messagesOfRow, reasoningIdOf } from './messages.js'
import type { AgUiMessage } from './messages.js'

/** The message that streams, with what was said of it. */
export interface Writing {
  readonly id: string
  readonly attempt: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly reasoning: string
  readonly open: 'text' | 'reasoning' | null
  /** Whether its text was ever opened. */
  readonly hasText: boolean
  /** Calls whose arguments have begun: all of them are open. */
  readonly calls: readonly ToolCallEntry[]
  /** A part came behind one that stands behind it in the transcript. */
  readonly isMixed: boolean
}

export function beginWriting(id: string, attempt: number, role: Writing['role']): Writing {
  const nothing = { text: '', reasoning: '', open: null, hasText: false, calls: [], isMixed: false }
  return { id, attempt, role, ...nothing }
}

type Said = readonly [Writing, readonly AgUiEvent[]]

/** Adds a piece of text or of reasoning. */
export function write(writing: Writing, kind: 'text' | 'reasoning', delta: string): Said {
  if (delta === '') return [writing, []]
  const [opened, opening] = openAs(writing, kind)
  if (kind === 'text')
    return [
      { ...opened, text: opened.text + delta },
      [...opening, { type: 'TEXT_MESSAGE_CONTENT', messageId: writing.id, delta }],
    ]
  const messageId = reasoningIdOf(writing.id)
  return [
    { ...opened, reasoning: opened.reasoning + delta },
    [...opening, { type: 'REASONING_MESSAGE_CONTENT', messageId, delta }],
  ]
}

/** A piece of the arguments of a call. */
interface Arguments {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** Adds a piece of the arguments of a call. */
export function writeArguments(writing: Writing, { id, name, text: delta }: Arguments): Said {
  const at = writing.calls.findIndex((call) => call.id === id)
  const known = writing.calls[at] ?? callOf(id, name, '')
  const call = callOf(id, known.function.name, known.function.arguments + delta)
  const calls = at === -1 ? [...writing.calls, call] : writing.calls.with(at, call)
  return [
    { ...writing, open: null, calls },
    [
      ...closeText(writing),
      ...(at === -1 ? [startOf(writing, call)] : []),
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta },
    ],
  ]
}

function callOf(id: string, name: string, given: string): ToolCallEntry {
  return { id, type: 'function', function: { name, arguments: given } }
}

/** A call of an assistant is in its message; one of a side that speaks as the user is a message of its own. */
function startOf({ id, role }: Pick<Writing, 'id' | 'role'>, call: ToolCallEntry): AgUiEvent {
  return {
    ...{ type: 'TOOL_CALL_START', toolCallId: call.id, toolCallName: call.function.name },
    ...(role === 'assistant' && { parentMessageId: id }),
  }
}

function openAs(writing: Writing, kind: 'text' | 'reasoning'): Said {
  if (writing.open === kind) return [writing, []]
  const { id, role } = writing
  const messageId = reasoningIdOf(id)
  const opening: readonly AgUiEvent[] =
    kind === 'text'
      ? [{ type: 'TEXT_MESSAGE_START', messageId: id, role }]
      : [
          { type: 'REASONING_START', messageId },
          { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
        ]
  const { hasText, calls, isMixed } = writing
  const isLate = kind === 'reasoning' ? hasText || calls.length > 0 : role === 'user' && calls.length > 0
  const isNew = kind === 'reasoning' ? writing.reasoning === '' : !hasText
  const opened = {
    ...{ ...writing, open: kind, hasText: hasText || kind === 'text' },
    isMixed: isMixed || (isNew && isLate),
  }
  return [opened, [...closeText(writing), ...opening]]
}

/** Closes what is open of it. */
export function closeWriting(writing: Writing): readonly AgUiEvent[] {
  const ends = writing.calls.map(({ id }): AgUiEvent => ({ type: 'TOOL_CALL_END', toolCallId: id }))
  return [...closeText(writing), ...ends]
}

function closeText({ id, open }: Writing): readonly AgUiEvent[] {
  if (open === null) return []
  if (open === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId: id }]
  const messageId = reasoningIdOf(id)
  return [
    { type: 'REASONING_MESSAGE_END', messageId },
    { type: 'REASONING_END', messageId },
  ]
}

/** What a snapshot has to say of it so that the client keeps what it has; `kept` false: so that it keeps nothing. */
export function inSnapshot(
  { id, role, text, reasoning, hasText, calls }: Writing,
  kept: boolean,
): readonly AgUiMessage[] {
  // A client keeps reasoning that a snapshot does not name.
  const thought: readonly AgUiMessage[] =
    reasoning === '' ? [] : [{ id: reasoningIdOf(id), role: 'reasoning', content: kept ? reasoning : '' }]
  if (!kept) return thought
  const spoken = hasText ? [{ id, role, content: text }] : []
  if (calls.length === 0) return [...thought, ...spoken]
  if (role === 'assistant') return [...thought, { id, role, ...spoken[0], toolCalls: calls }]
  const called = calls.map((call) => ({ id: call.id, role: 'assistant', toolCalls: [call] }) as const)
  return [...thought, ...spoken, ...called]
}

/** The row of the message: the rest of its words, and its calls. `fits` is false if other words were said. */
export function finishWriting(
  writing: Writing,
  row: Message,
): { readonly fits: boolean; readonly events: readonly AgUiEvent[] } {
  const [thought, spoken] = [row.reasoning_content ?? '', row.content ?? '']
  const messages = messagesOfRow(row)
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const isSaid = thought.startsWith(writing.reasoning) && spoken.startsWith(writing.text)
  if (!isSaid || !areBeginnings(writing.calls, calls)) return { fits: false, events: [] }
  const [reasoned, first] = write(writing, 'reasoning', thought.slice(writing.reasoning.length))
  const [said, second] = write(reasoned, 'text', spoken.slice(writing.text.length))
  const own = messages.find(({ id }) => id === row.id)
  // Only the end of a text can carry metadata, and arguments have closed it.
  const needsEnd = own?.metadata !== undefined && writing.calls.length > 0
  const needsText = own?.content !== undefined && (!said.hasText || needsEnd)
  const [opened, third] = needsText ? openAs(said, 'text') : ([said, []] as const)
  const closing = closeText(opened).map((event) =>
    event.type === 'TEXT_MESSAGE_END' && own?.metadata !== undefined
      ? { ...event, metadata: own.metadata }
      : event,
  )
  // A text without words, that its client has not before its calls, is not there for it.
  const isUnsaid = writing.calls.length > 0 && needsText && spoken === ''
  const rest = calls.flatMap((call) => restOfCall(opened, call))
  return { fits: !opened.isMixed && !isUnsaid, events: [...first, ...second, ...third, ...closing, ...rest] }
}

function areBeginnings(written: readonly ToolCallEntry[], stored: readonly ToolCallEntry[]): boolean {
  return written.every(({ id, function: { name, arguments: given } }, index) => {
    const call = stored[index]
    return call?.id === id && call.function.name === name && call.function.arguments.startsWith(given)
  })
}

/** The rest of a call, whose arguments are known as a whole. */
function restOfCall(writing: Writing, call: ToolCallEntry): readonly AgUiEvent[] {
  const { id: toolCallId, function: made } = call
  const written = writing.calls.find(({ id }) => id === toolCallId)
  const delta = made.arguments.slice(written?.function.arguments.length ?? 0)
  return [
    ...(written === undefined ? [startOf(writing, call)] : []),
    ...(delta === '' ? [] : [{ type: 'TOOL_CALL_ARGS', toolCallId, delta } as const]),
    { type: 'TOOL_CALL_END', toolCallId },
  ]
}
