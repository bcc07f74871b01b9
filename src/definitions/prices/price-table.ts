/**
 * Owns: the prices that a model has by the name of its provider and its id: a snapshot of a kept source, as of its `date`.
 * `npm run prices` writes it; nothing is read from the network.
 *
 * Does not own: which prices count for a model (model-prices.ts).
 *
 * Invariants:
 * - A model that the table does not have, or whose tokens are not all that it costs, has no prices: it never costs zero.
 */
import table from './price-table.json' with { type: 'json' }
import type { Prices } from './defined-prices.js'

/** A pattern for ids in lower case; the prices; those of a long input, behind the number of tokens that it begins above. */
type Row = readonly [pattern: string, ...numbers: (number | null)[]]

interface ProviderTable {
  /** Providers whose models this one serves too, at their prices. */
  readonly fallbacks: readonly string[]
  /** The first row that matches counts. */
  readonly models: readonly Row[]
}

/** As `scripts/prices.ts` writes it. */
const PROVIDERS = new Map(Object.entries(table.providers as unknown as Record<string, ProviderTable>))

/** Names of the AI SDK's providers, up to their first dot, that the table has under another name. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['googleVertex', 'google'],
  ['google-vertex', 'google'],
  ['vertex', 'google'],
  ['azure-openai', 'azure'],
  ['amazonBedrock', 'aws'],
  ['amazon-bedrock', 'aws'],
  ['bedrock', 'aws'],
  ['bedrock-mantle', 'aws'],
  ['xai', 'x-ai'],
  ['togetherai', 'together'],
])

/** The prices of a model; `provider` is the name that the AI SDK's model has, such as `openai.responses`. */
export function pricesInTable(provider: string, model: string): Prices | null {
  const [maker, id] = placeOf(provider, model.toLowerCase())
  const name = OTHER_NAMES.get(maker) ?? maker
  return pricesOfRow(findRow(name, id) ?? findRow(name, withDashedDate(id)))
}

/** The gateway names the maker within the id: `openai/gpt-5`. */
function placeOf(provider: string, model: string): readonly [maker: string, id: string] {
  const [maker = ''] = provider.split('.')
  const slash = model.indexOf('/')
  return maker === 'gateway' && slash > 0 ? [model.slice(0, slash), model.slice(slash + 1)] : [maker, model]
}

function findRow(provider: string, id: string): Row | undefined {
  const served = PROVIDERS.get(provider)
  const own = served?.models.find(([pattern]) => new RegExp(pattern).test(id))
  if (own !== undefined) return own
  for (const other of served?.fallbacks ?? []) {
    const row = findRow(other, id)
    if (row !== undefined) return row
  }
  return undefined
}

/** `-20250807` as the rows have it: `-2025-08-07`. */
function withDashedDate(id: string): string {
  return id.replaceAll(/-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, '-$1-$2-$3')
}

function pricesOfRow(row: Row | undefined): Prices | null {
  const [, inputPrice, outputPrice, cachedPrice = null, above, ...long] = row ?? ['']
  if (typeof inputPrice !== 'number' || typeof outputPrice !== 'number') return null
  const base = { inputPrice, outputPrice, cachedPrice }
  const [input, output, cached = null] = long
  if (typeof above !== 'number' || typeof input !== 'number' || typeof output !== 'number') return base
  return { ...base, longInput: { above, inputPrice: input, outputPrice: output, cachedPrice: cached } }
}
