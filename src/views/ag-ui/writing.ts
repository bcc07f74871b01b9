/**
 * A message while it is written, in the words of AG-UI.
 *
 * Owns: when its text and reasoning open and close, and what becomes of a text that an answer was called again for. Does not own: what
 * else a run says (`ag-ui.ts`).
 * Invariants: what is opened is closed, and a text is open once; AG-UI cannot take words back, so what was said of an attempt that does
 * not count is removed by a snapshot, and then said anew under the same id.
 */
import type { Message } from '../../protocol/message.js'
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
}

export function beginWriting(id: string, attempt: number, role: Writing['role']): Writing {
  return { id, attempt, role, text: '', reasoning: '', open: null, hasText: false }
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
  const opened = { ...writing, open: kind, hasText: writing.hasText || kind === 'text' }
  return [opened, [...closeWriting(writing), ...opening]]
}

/** Closes what is open of it. */
export function closeWriting({ id, open }: Writing): readonly AgUiEvent[] {
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
  { id, role, text, reasoning, hasText }: Writing,
  kept: boolean,
): readonly AgUiMessage[] {
  // A client keeps reasoning that a snapshot does not name.
  const thought: readonly AgUiMessage[] =
    reasoning === '' ? [] : [{ id: reasoningIdOf(id), role: 'reasoning', content: kept ? reasoning : '' }]
  return kept && hasText ? [...thought, { id, role, content: text }] : thought
}

/** The row of the message: the rest of its words, and its calls. `fits` is false if other words were said. */
export function finishWriting(
  writing: Writing,
  row: Message,
): { readonly fits: boolean; readonly events: readonly AgUiEvent[] } {
  const [thought, spoken] = [row.reasoning_content ?? '', row.content ?? '']
  const fits = thought.startsWith(writing.reasoning) && spoken.startsWith(writing.text)
  if (!fits) return { fits, events: [...closeWriting(writing), ...callEvents(row)] }
  const [reasoned, first] = write(writing, 'reasoning', thought.slice(writing.reasoning.length))
  const [said, second] = write(reasoned, 'text', spoken.slice(writing.text.length))
  const needsText = messagesOfRow(row).some(({ id, content }) => id === row.id && content !== undefined)
  const [opened, third] = needsText && !said.hasText ? openAs(said, 'text') : ([said, []] as const)
  const metadata = messagesOfRow(row).find(({ id }) => id === row.id)?.metadata
  const closing = closeWriting(opened).map((event) =>
    event.type === 'TEXT_MESSAGE_END' && metadata !== undefined ? { ...event, metadata } : event,
  )
  return { fits, events: [...first, ...second, ...third, ...closing, ...callEvents(row)] }
}

/** Its calls, whose arguments are known as a whole. */
function callEvents(row: Message): readonly AgUiEvent[] {
  return messagesOfRow(row).flatMap(({ id, toolCalls = [] }) =>
    toolCalls.flatMap(({ id: toolCallId, function: { name, arguments: delta } }): readonly AgUiEvent[] => [
      {
        ...{ type: 'TOOL_CALL_START', toolCallId, toolCallName: name },
        ...(id !== toolCallId && { parentMessageId: id }),
      },
      ...(delta === '' ? [] : [{ type: 'TOOL_CALL_ARGS', toolCallId, delta } as const]),
      { type: 'TOOL_CALL_END', toolCallId },
    ]),
  )
}
