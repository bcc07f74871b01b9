/**
 * The parts of a request, as the log and budgets count them.
 * Owns: which section a row belongs to, and which of the four parts a section belongs to.
 * Does not own: the estimate of a text or a row (`model/context/row-tokens.ts`).
 * Invariant: the four parts add up to the estimate of the whole request.
 */
import { rowsOfTurn } from '../../model/context/answer-parts.js'
import { isOwn } from '../../model/context/transcript-row.js'
import type { Perspective, TranscriptRow } from '../../model/context/transcript-row.js'
import type { ContextItem, ContextTokens } from '../../protocol/event-codes.js'

interface ContextParts {
  readonly tokens: ContextTokens
  /** Sections that are not empty. */
  readonly items: readonly ContextItem[]
  /** The sum of `tokens`; see `textTokens`. */
  readonly estimatedTokens: number
}

type Section = ContextItem['kind']

const PARTS: Readonly<Record<Section, keyof ContextTokens>> = {
  system: 'system',
  subagents: 'system',
  tools: 'tools',
  summary: 'history',
  messages: 'history',
  results: 'history',
  user: 'user',
}

/** Adds the sections up. */
export function contextParts(sections: readonly ContextItem[]): ContextParts {
  const items = sections.filter(({ count }) => count > 0)
  const sumOf = (part: keyof ContextTokens): number =>
    items.reduce((sum, { kind, tokens }) => (PARTS[kind] === part ? sum + tokens : sum), 0)
  return {
    tokens: {
      system: sumOf('system'),
      tools: sumOf('tools'),
      history: sumOf('history'),
      user: sumOf('user'),
    },
    items,
    estimatedTokens: items.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** The sections of the rows; `weights` has the tokens of each row by its id. */
export function rowSections(
  rows: readonly TranscriptRow[],
  perspective: Perspective,
  weights: ReadonlyMap<string, number>,
): readonly ContextItem[] {
  const turn = rowsOfTurn(rows, perspective)
  const sectionOf = (row: TranscriptRow): Section => {
    if (row.role === 'tool') return 'results'
    return turn.has(row) && !isOwn(row, perspective) ? 'user' : 'messages'
  }
  return (['messages', 'results', 'user'] as const).map((kind) => {
    const own = rows.filter((row) => sectionOf(row) === kind)
    return { kind, count: own.length, tokens: own.reduce((sum, { id }) => sum + (weights.get(id) ?? 0), 0) }
  })
}
