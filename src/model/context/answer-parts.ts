/**
 * An answer is stored as one row, whose texts, calls and files come from parts. The metadata of a part (a signature,
 * encrypted reasoning) goes back to the provider with that part, in the order of the answer, and only to the model that
 * made the answer.
 */
import { createHash } from 'node:crypto'
import type {
  LanguageModelV4FilePart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { isObject } from '../../protocol/values.js'
import { answeredCalls, requestPartOf } from '../provider-parts.js'
import type { ProviderPart } from '../../protocol/message.js'
import { isOwn, parseJson, readToolCalls } from './transcript-row.js'
import type { Perspective, TranscriptRow } from './transcript-row.js'

/** The parts of an answer as its row keeps them, in the order of the model: JSON of `messages.answer_parts`. */
export interface AnswerDetails {
  /** Name of the model's definition. */
  readonly model: string
  /** The id of the model at its provider. */
  readonly modelId: string
  /** Digests of the texts in which `from` and `to` are offsets: of a text that has changed since, no part goes back. */
  readonly text: string
  readonly reasoning: string
  readonly parts: readonly StoredPart[]
}

export type StoredPart = (
  | { readonly kind: 'text' | 'reasoning'; readonly from: number; readonly to: number }
  | { readonly kind: 'call'; readonly id: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'provider'; readonly part: ProviderPart }
) & { readonly providerMetadata?: SharedV4ProviderMetadata }

/**
 * The model of the request. Parts go back only to the model that made them: others cannot use their signatures, and
 * some refuse them.
 */
export interface Author {
  readonly prompt: string
  readonly model: string
  readonly modelId: string
  /** `reasoning.include`: reasoning of earlier turns goes back too. */
  readonly includesReasoning: boolean
  /** The request enables reasoning. */
  readonly reasons: boolean
}

export type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4FilePart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart
  | LanguageModelV4ToolResultPart

/** The digest of a text of a row, for `AnswerDetails`. */
export function textDigest(text: string | null): string {
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex')
    .slice(0, 16)
}

/** The details of a row that the author made; null for a row of another model, or without details. */
function ownDetails(row: TranscriptRow, author: Author | null): AnswerDetails | null {
  if (author === null || row.answer_parts === null) return null
  const details = parseJson(row.answer_parts) as Partial<AnswerDetails> | null | undefined
  if (details?.model !== author.model || details.modelId !== author.modelId) return null
  // `answerDetails` has written the text: this is the boundary to the store.
  return Array.isArray(details.parts) ? (details as AnswerDetails) : null
}

/** The paths of the files that the author made in this row. */
export function madeFiles(row: TranscriptRow, author: Author | null): ReadonlySet<string> {
  const parts = ownDetails(row, author)?.parts ?? []
  return new Set(parts.flatMap((part) => (part.kind === 'file' ? [part.path] : [])))
}

/**
 * The rows of the current turn: those after the last answer of this side without a call. Providers that reason between
 * calls need the reasoning of these rows back, and ignore that of earlier turns.
 */
export function rowsOfTurn(
  rows: readonly TranscriptRow[],
  perspective: Perspective,
): ReadonlySet<TranscriptRow> {
  const last = rows.findLastIndex(
    (row) =>
      (row.role === 'assistant' || row.role === 'user') &&
      isOwn(row, perspective) &&
      readToolCalls(row.tool_calls).length === 0,
  )
  return new Set(rows.slice(last + 1))
}

export interface RowContent {
  /** The content of the row. */
  readonly text: string
  /** The note of its files; '' without files. */
  readonly note: string
  readonly calls: readonly LanguageModelV4ToolCallPart[]
  /** The files that go back as parts, by path. */
  readonly files: ReadonlyMap<string, LanguageModelV4FilePart>
  /** The row belongs to the current turn. */
  readonly inTurn: boolean
}

/**
 * The content of a row in a request to the author: its parts in their order, each with its metadata. Texts, calls and
 * files that were changed or removed since are as in the present row.
 */
export function assistantParts(
  row: TranscriptRow,
  author: Author | null,
  content: RowContent,
): readonly AssistantPart[] {
  const details = ownDetails(row, author)
  const parts = details === null ? [] : authorParts(row, details, { author, ...content })
  const isSaid = parts.some((part) => part.type === 'text' && part.text.trim() !== '')
  const made = new Set(parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])))
  // Some providers refuse text after calls.
  const firstCall = parts.findIndex((part) => part.type === 'tool-call' && part.providerExecuted !== true)
  const place = firstCall === -1 ? parts.length : firstCall
  const whole = [
    ...parts.slice(0, place),
    ...[isSaid ? '' : content.text, content.note]
      .filter((text) => text.trim() !== '')
      .map((text): AssistantPart => ({ type: 'text', text })),
    ...parts.slice(place),
    ...content.calls.filter(({ toolCallId }) => !made.has(toolCallId)),
  ]
  // Reasoning at the end led to a part that was removed; providers refuse a message that ends with reasoning.
  return whole.slice(0, whole.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

/** The JSON that a row's parts add to a request, for an estimate of its tokens. */
export function partsText(row: TranscriptRow, author: Author | null, inTurn: boolean): string {
  const details = ownDetails(row, author)
  if (details === null) return ''
  const asked = { author, calls: [], files: new Map(), inTurn, text: row.content ?? '', note: '' }
  const reasoning = authorParts(row, details, asked).filter(({ type }) => type === 'reasoning')
  const options = details.parts.map((part) =>
    part.kind === 'reasoning' ? undefined : optionsOf(part.providerMetadata),
  )
  const provided = details.parts.flatMap((part) => (part.kind === 'provider' ? [part.part] : []))
  const given = [...reasoning, ...provided, ...options.filter((one) => one !== undefined)]
  return given.length === 0 ? '' : JSON.stringify(given)
}

function authorParts(
  row: TranscriptRow,
  details: AnswerDetails,
  { author, calls, files, inTurn }: RowContent & { readonly author: Author | null },
): readonly AssistantPart[] {
  const text = isWholeText(row, details) ? (row.content ?? '') : null
  const sendsReasoning = author === null ? () => false : takesReasoning(row, author, inTurn)
  const reasoning =
    textDigest(row.reasoning_content) === details.reasoning ? (row.reasoning_content ?? '') : null
  const answered = answeredCalls(
    details.parts.flatMap((part) => (part.kind === 'provider' ? [part.part] : [])),
  )
  return joinItems(details.parts).flatMap((part): readonly AssistantPart[] => {
    const providerOptions = optionsOf(part.providerMetadata)
    const options = providerOptions === undefined ? {} : { providerOptions }
    switch (part.kind) {
      case 'text': {
        const words = text === null ? '' : text.slice(part.from, part.to)
        const isSent = words.trim() !== '' || (part.from === part.to && isSigned(providerOptions))
        return isSent ? [{ type: 'text', text: words, ...options }] : []
      }
      case 'reasoning': {
        if (!sendsReasoning(providerOptions) || reasoning === null) return []
        return [{ type: 'reasoning', text: reasoning.slice(part.from, part.to), ...options }]
      }
      case 'call':
        return calls
          .filter(({ toolCallId }) => toolCallId === part.id)
          .map((call) => ({ ...call, ...options }))
      case 'file': {
        const file = files.get(part.path)
        return file === undefined ? [] : [{ ...file, ...options }]
      }
      case 'provider': {
        const sent = 'name' in part.part && answered.has(part.part.id) ? requestPartOf(part.part) : null
        return sent === null ? [] : [{ ...sent, ...options }]
      }
    }
  })
}

/** True if the parts cover the whole text of the row, and the text has not changed since. */
function isWholeText({ content }: TranscriptRow, { text, parts }: AnswerDetails): boolean {
  if (textDigest(content) !== text) return false
  const end = parts.reduce((at, part) => (part.kind === 'text' && part.from === at ? part.to : at), 0)
  return end === (content ?? '').length
}

/** Selects the reasoning of a row for the author: all of its own with `include`, else the signed one of this turn. */
function takesReasoning(
  row: TranscriptRow,
  author: Author,
  inTurn: boolean,
): (options: SharedV4ProviderOptions | undefined) => boolean {
  const isOwnPrompt = row.prompt === author.prompt
  if (author.includesReasoning && isOwnPrompt) return () => true
  return (options) => options !== undefined && inTurn && (isOwnPrompt || author.reasons)
}

/** OpenAI sends one item of reasoning in several parts, each with the whole encrypted item, which must go back once. */
function joinItems(parts: readonly StoredPart[]): readonly StoredPart[] {
  const joined: StoredPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const id = itemOf(part)
    if (part.kind === 'reasoning' && last?.kind === 'reasoning' && id !== null && id === itemOf(last))
      joined.splice(-1, 1, { ...part, from: last.from })
    else joined.push(part)
  }
  return joined
}

function itemOf({ providerMetadata = {} }: StoredPart): string | null {
  const ids = Object.values(providerMetadata).map((fields) => fields['itemId'])
  return ids.find((id) => typeof id === 'string') ?? null
}

/**
 * Metadata that is invalid in a request. An item id refers to temporary storage of the provider, with the provider's own
 * call ids, and hides later changes of the text. A caller refers to a call of the provider's own tools, which is not sent.
 * Annotations are for readers.
 */
const NOT_SENT: ReadonlySet<string> = new Set(['itemId', 'caller', 'annotations'])

function optionsOf(metadata: SharedV4ProviderMetadata | undefined): SharedV4ProviderOptions | undefined {
  const providers = Object.entries(metadata ?? {}).flatMap(([provider, fields]) => {
    if (!isObject(fields)) return []
    const kept = Object.entries(fields).filter(([name, value]) => value !== null && !NOT_SENT.has(name))
    return kept.length === 0 ? [] : [[provider, Object.fromEntries(kept)] as const]
  })
  return providers.length === 0 ? undefined : (Object.fromEntries(providers) as SharedV4ProviderOptions)
}

/** Google sends some signatures in an empty text. */
function isSigned(options: SharedV4ProviderOptions | undefined): boolean {
  return Object.values(options ?? {}).some((fields) => typeof fields['thoughtSignature'] === 'string')
}
