// `npm run prices [version]`: writes the table of model prices from `@pydantic/genai-prices`, as they are today. It needs the
// network; nothing else does.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

const SOURCE = '@pydantic/genai-prices'
const TABLE = join(import.meta.dirname, '../src/definitions/prices/price-table.json')

/** The providers of the table, by their names in the source. */
const PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'azure',
  'aws',
  'mistral',
  'groq',
  'x-ai',
  'deepseek',
].concat(['cohere', 'together', 'fireworks', 'cerebras', 'moonshotai'])

/** How the source matches the id of a model. */
export type Match =
  | { readonly or: readonly Match[] }
  | { readonly and: readonly Match[] }
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }

type Price =
  | number
  | {
      readonly base: number
      readonly tiers: readonly { readonly start: number; readonly price: number }[]
    }

type Prices = Readonly<Record<string, Price | undefined>>

interface DatedPrices {
  readonly constraint?:
    | { readonly type: 'start_date'; readonly start_date: string }
    | { readonly type: 'time_of_date' }
  readonly prices: Prices
}

export interface SourceModel {
  readonly id: string
  readonly match: Match
  readonly prices: Prices | readonly DatedPrices[]
}

interface SourceProvider {
  readonly models: readonly SourceModel[]
  readonly fallback_model_providers?: readonly string[]
}

/** The regular expression, for ids in lower case, of what the source matches. */
export function patternOf(match: Match): string {
  if ('or' in match) return match.or.map(patternOf).join('|')
  if ('and' in match) return `^${match.and.map((part) => `(?=.*(?:${patternOf(part)}))`).join('')}`
  if ('regex' in match) return match.regex
  if ('equals' in match) return `^${literal(match.equals)}$`
  if ('starts_with' in match) return `^${literal(match.starts_with)}`
  if ('ends_with' in match) return `${literal(match.ends_with)}$`
  return literal(match.contains)
}

function literal(text: string): string {
  return text.toLowerCase().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** The row of a model: pattern, input, output, cached; for long inputs, from how many tokens on, and the three prices then. */
export function rowOf({ match, prices }: SourceModel, day: string): readonly unknown[] {
  const now = pricesOn(prices, day)
  const { input_mtok: input, output_mtok: output, cache_read_mtok: cached } = now
  const pattern = patternOf(match)
  // Such a model costs something else as well, so its tokens alone are no price.
  if (input === undefined || output === undefined || now['requests_kcount'] !== undefined) return [pattern]
  const base = [input, output, cached].map((price) =>
    typeof price === 'object' ? price.base : (price ?? null),
  )
  const starts = [input, output, cached].flatMap((price) =>
    typeof price === 'object' ? price.tiers.map(({ start }) => start) : [],
  )
  const [above, ...others] = new Set(starts)
  if (above === undefined) return [pattern, ...base]
  if (others.length > 0)
    throw new Error(`Expected one tier, got those from ${starts.join(', ')}: ${pattern}.`)
  const long = [input, output, cached].map((price) =>
    typeof price === 'object' ? (price.tiers[0]?.price ?? price.base) : (price ?? null),
  )
  return [pattern, ...base, above, ...long]
}

/** The prices of a day; of several that depend on the hour the highest, so that no cost is above what is counted. */
function pricesOn(prices: SourceModel['prices'], day: string): Prices {
  if (!isDated(prices)) return prices
  const started = prices.filter(
    ({ constraint }) => constraint?.type !== 'start_date' || constraint.start_date <= day,
  )
  const first = started.findLastIndex(({ constraint }) => constraint?.type !== 'time_of_date')
  const [highest] = started.slice(first).toSorted((one, other) => inputOf(other) - inputOf(one))
  return highest?.prices ?? {}
}

function isDated(prices: SourceModel['prices']): prices is readonly DatedPrices[] {
  return Array.isArray(prices)
}

function inputOf({ prices }: DatedPrices): number {
  const { input_mtok: price = 0 } = prices
  return typeof price === 'object' ? price.base : price
}

/** The text of the table: a line for each model, in the order in which they are tried. */
export function tableText(
  head: { readonly source: string; readonly licence: string; readonly date: string },
  providers: ReadonlyMap<string, SourceProvider>,
): string {
  const tables = [...providers].map(([name, { models, fallback_model_providers: others = [] }]) => {
    const rows = models.map((model) => JSON.stringify(rowOf(model, head.date)))
    const fallbacks = others.filter((other) => providers.has(other))
    return `"${name}":{"fallbacks":${JSON.stringify(fallbacks)},"models":[\n${rows.join(',\n')}]}`
  })
  return `${JSON.stringify(head).slice(0, -1)},\n"providers":{\n${tables.join(',\n')}}}\n`
}

async function write(version: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'prices-'))
  try {
    const options = { cwd: folder, encoding: 'utf8' } as const
    const packed = execFileSync('npm', ['pack', '--silent', `${SOURCE}@${version}`], options).trim()
    execFileSync('tar', ['xzf', packed], options)
    const { name, version: got } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8')) as {
      readonly name: string
      readonly version: string
    }
    // The type of its `findProvider`, as far as it is used here.
    const { findProvider } = (await import(pathToFileURL(join(folder, 'package/dist/index.js')).href)) as {
      readonly findProvider: (named: { readonly providerId: string }) => SourceProvider | undefined
    }
    const providers = new Map(
      PROVIDERS.map((providerId) => {
        const provider = findProvider({ providerId })
        if (provider === undefined)
          throw new Error(`Expected prices of ${providerId} in ${name}, found none.`)
        return [providerId, provider]
      }),
    )
    const licence = readFileSync(join(folder, 'package/LICENSE'), 'utf8').trim()
    const date = new Date().toISOString().slice(0, 10)
    writeFileSync(TABLE, tableText({ source: `${name} ${got}`, licence, date }, providers))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) await write(process.argv[2] ?? 'latest')
