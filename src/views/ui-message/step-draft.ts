/**
 * An answer while it is written, in the chunks of the AI SDK.
 *
 * Owns: which parts of a step open and close as text, reasoning and arguments come, and whether a stored answer goes on with them. Does not
 * own: when a step begins, and what else it has (`ui-message-stream.ts`).
 * Invariants: parts come in the order that the stored answer has them in: reasoning, text, calls. What comes in another order is not shown
 * until the answer is stored, which then is told anew.
 */
import type { ThreadEventOf } from '../../protocol/events.js'
import type { ToolCallEntry } from '../../protocol/message.js'
import type { UIMessageChunk } from '../ui-messages.js'

export interface Draft {
  readonly messageId: string
  readonly attempt: number
  /** As it was streamed. */
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly DraftCall[]
  /** The kinds whose part is open. */
  readonly open: readonly Kind[]
  /** It cannot be continued: a piece is missing, or one came out of order. */
  readonly isBroken: boolean
}

interface DraftCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

type Kind = 'text' | 'reasoning'

export type Delta = Pick<
  ThreadEventOf<'model.delta' | 'reasoning.delta' | 'tool.args'>,
  'type' | 'messageId' | 'toolCallId' | 'payload'
>

export function beginDraft({ messageId, payload: { attempt } }: Delta): Draft {
  return { messageId, attempt, text: '', reasoning: '', calls: [], open: [], isBroken: false }
}

type Added = readonly [Draft, readonly UIMessageChunk[]]

/** Adds a piece of the same attempt; one that came before adds nothing. */
export function addDelta(draft: Draft, event: Delta): Added {
  if (draft.isBroken) return [draft, []]
  if (event.type === 'tool.args') return addArguments(draft, event as Delta & ThreadEventOf<'tool.args'>)
  return addText(draft, event.type === 'model.delta' ? 'text' : 'reasoning', event.payload)
}

function addText(draft: Draft, kind: Kind, { offset, text: given }: Delta['payload']): Added {
  const known = draft[kind]
  const text = given.slice(Math.max(0, known.length - offset))
  const isBehind = (kind === 'reasoning' && draft.text !== '') || draft.calls.length > 0
  if (text !== '' && (offset > known.length || isBehind)) return [{ ...draft, isBroken: true }, []]
  if (text === '') return [draft, []]
  const id = partId(kind, draft.messageId)
  const isOpen = draft.open.includes(kind)
  const chunks: readonly UIMessageChunk[] = [
    ...(isOpen ? [] : closeParts(draft)),
    ...(isOpen ? [] : [{ type: `${kind}-start`, id } as const]),
    { type: `${kind}-delta`, id, delta: text },
  ]
  return [{ ...draft, [kind]: known + text, open: [kind] }, chunks]
}

function addArguments(draft: Draft, { toolCallId: id, payload }: ThreadEventOf<'tool.args'>): Added {
  const { offset, name } = payload
  const at = draft.calls.findIndex((call) => call.id === id)
  const call = draft.calls[at] ?? { id, name, arguments: '' }
  const known = call.arguments
  const inputTextDelta = payload.text.slice(Math.max(0, known.length - offset))
  if (inputTextDelta === '') return [draft, []]
  if (offset > known.length) return [{ ...draft, isBroken: true }, []]
  const next = { ...call, arguments: known + inputTextDelta }
  const calls = at === -1 ? [...draft.calls, next] : draft.calls.with(at, next)
  const begun: readonly UIMessageChunk[] =
    at === -1 ? [{ type: 'tool-input-start', toolCallId: id, toolName: name, dynamic: true }] : []
  const chunks: readonly UIMessageChunk[] = [
    ...closeParts(draft),
    ...begun,
    { type: 'tool-input-delta', toolCallId: id, inputTextDelta },
  ]
  return [{ ...draft, calls, open: [] }, chunks]
}

function closeParts({ open, messageId }: Draft): readonly UIMessageChunk[] {
  return open.map((kind) => ({ type: `${kind}-end`, id: partId(kind, messageId) }) as const)
}

/** An answer as it is stored. */
export interface WholeAnswer {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ToolCallEntry[]
  /** It has parts between its text and its calls. */
  readonly hasMore: boolean
}

/** Whether the answer goes on with what was streamed. */
export function continues(draft: Draft, { text, reasoning, calls, hasMore }: WholeAnswer): boolean {
  if (draft.isBroken) return false
  const isThought = (draft.text === '' && draft.calls.length === 0) || draft.reasoning === reasoning
  const isSaid = draft.calls.length === 0 || (draft.text === text && !hasMore)
  const isWords = text.startsWith(draft.text) && reasoning.startsWith(draft.reasoning)
  return isThought && isSaid && isWords && draft.calls.every((call, index) => isBeginning(call, calls[index]))
}

function isBeginning({ id, name, arguments: given }: DraftCall, stored: ToolCallEntry | undefined): boolean {
  return stored?.id === id && stored.function.name === name && stored.function.arguments.startsWith(given)
}

/** What the parts of text and reasoning still lack, and their ends. `known` is what was told of them; null: nothing. */
export function restOfText(
  messageId: string,
  known: Draft | null,
  { reasoning, text }: Pick<WholeAnswer, 'text' | 'reasoning'>,
): readonly UIMessageChunk[] {
  return [
    ...restOf('reasoning', messageId, { known, whole: reasoning }),
    ...restOf('text', messageId, { known, whole: text }),
  ]
}

function restOf(
  kind: Kind,
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

function partId(kind: Kind, messageId: string): string {
  return kind === 'text' ? messageId : `${messageId}:reasoning`
}
