/**
 * Owns: which prices count for a model: those of its definition, whole; else those that its worker gives for the id; else those
 * of the table; else none.
 *
 * Does not own: the table (price-table.ts), and what a request costs by them (activities/turn/request-log.ts).
 */
import type { ModelDefinition } from '../model.js'
import { definedPrices } from './defined-prices.js'
import type { PriceList, Prices } from './defined-prices.js'
import { pricesInTable } from './price-table.js'
import { ConfigError } from '../../protocol/errors.js'

/** Prices of a model, in US dollars per million tokens. */
export interface ModelPrices {
  readonly inputPrice: number
  readonly outputPrice: number
  /** For input tokens that the provider read from its cache. @default inputPrice */
  readonly cachedPrice?: number
  /** For the whole request, if its input has more than `above` tokens. */
  readonly longInput?: {
    readonly above: number
    readonly inputPrice: number
    readonly outputPrice: number
    readonly cachedPrice?: number
  }
}

/** Prices by the provider's id of a model, in the place of those of the table; null: unknown. */
export type GivenPrices = Readonly<Record<string, ModelPrices | null>>

const UNKNOWN: Prices = { inputPrice: null, outputPrice: null, cachedPrice: null }

/** The price list of a worker. @throws ConfigError with each wrong price */
export function createPriceList(given: GivenPrices = {}): PriceList {
  const problems = priceProblems(given)
  if (problems.length > 0) throw new ConfigError(problems)
  const byId = new Map(Object.entries(given))
  return (model) => {
    if (hasPrices(model)) return definedPrices(model)
    const other = byId.get(model.model)
    if (other !== undefined) return other === null ? UNKNOWN : fromGiven(other)
    const provider = providerName(model)
    return (provider === null ? null : pricesInTable(provider, model.model)) ?? UNKNOWN
  }
}

function hasPrices({ inputPrice, outputPrice, cachedPrice }: ModelDefinition): boolean {
  return [inputPrice, outputPrice, cachedPrice].some((price) => price !== undefined)
}

function fromGiven({ longInput, ...base }: ModelPrices): Prices {
  const prices = { ...base, cachedPrice: base.cachedPrice ?? null }
  if (longInput === undefined) return prices
  return { ...prices, longInput: { ...longInput, cachedPrice: longInput.cachedPrice ?? null } }
}

/**
 * Null for a provider that makes no model without its key, or whose models have no name of it: their prices are unknown until a
 * definition or a worker has them.
 */
function providerName({ provider, model }: ModelDefinition): string | null {
  try {
    // A provider of JavaScript may make anything.
    const { provider: name }: { readonly provider: unknown } = provider.languageModel(model)
    return typeof name === 'string' ? name : null
  } catch {
    return null
  }
}

const REQUIRED = ['inputPrice', 'outputPrice'] as const
const FIELDS: readonly string[] = [...REQUIRED, 'cachedPrice']

function priceProblems(given: unknown): readonly string[] {
  if (!isObject(given))
    return [
      `Expected prices to be an object, { 'id of the model': { inputPrice, outputPrice } }, got ${show(given)}.`,
    ]
  return Object.entries(given).flatMap(([id, prices]) => {
    const name = `prices['${id}']`
    if (prices === null) return []
    if (!isObject(prices))
      return [`Expected ${name} to be { inputPrice, outputPrice } or null, got ${show(prices)}.`]
    const { longInput, ...base } = prices
    return [...pricesProblems(name, base), ...longInputProblems(`${name}.longInput`, longInput)]
  })
}

function longInputProblems(name: string, longInput: unknown): readonly string[] {
  if (longInput === undefined) return []
  if (!isObject(longInput))
    return [`Expected ${name} to be { above, inputPrice, outputPrice }, got ${show(longInput)}.`]
  const { above, ...prices } = longInput
  const isCount = typeof above === 'number' && Number.isInteger(above) && above >= 1
  return [
    ...(isCount ? [] : [`Expected ${name}.above to be a whole number of tokens from 1, got ${show(above)}.`]),
    ...pricesProblems(name, prices),
  ]
}

function pricesProblems(name: string, prices: Readonly<Record<string, unknown>>): readonly string[] {
  const unknown = Object.keys(prices).filter((field) => !FIELDS.includes(field))
  const values = [...REQUIRED, ...(prices['cachedPrice'] === undefined ? [] : ['cachedPrice'])]
  return [
    ...unknown.map((field) => `Expected fields of ${name} to be among ${FIELDS.join(', ')}, got ${field}.`),
    ...values.flatMap((field) => {
      const price = prices[field]
      if (typeof price === 'number' && Number.isFinite(price) && price >= 0) return []
      return [`Expected ${name}.${field} to be US dollars per million tokens, got ${show(price)}.`]
    }),
  ]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'number' || value === null ? String(value) : typeof value
}
