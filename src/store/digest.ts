import { createHash } from 'node:crypto'
import type { JsonValue } from '../protocol/values.js'

/** SHA-256 of a value, independent of the order of keys: two values are equal if and only if their digests are. */
export function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** A list or object whose parts are being printed. */
interface Container {
  /** Null: a list. */
  readonly keys: readonly string[] | null
  readonly parts: readonly unknown[]
  readonly texts: string[]
}

/** As `JSON.stringify`, with sorted keys. Without recursion, because the nesting of a model's arguments is unbounded (T10). */
function canonicalJson(value: JsonValue): string {
  let text = textOf(value)
  const above: Container[] = text === null ? [containerOf(value as object)] : []
  for (let last = above.at(-1); last !== undefined; last = above.at(-1)) {
    if (last.texts.length === last.parts.length) {
      above.pop()
      text = printContainer(last)
      above.at(-1)?.texts.push(text)
      continue
    }
    const part = last.parts[last.texts.length]
    const printed = textOf(part)
    if (printed === null) above.push(containerOf(part as object))
    else last.texts.push(printed)
  }
  return text ?? ''
}

/** The text of a value without parts; null for a list or object. */
function textOf(part: unknown): string | null {
  return typeof part === 'object' && part !== null ? null : (JSON.stringify(part) ?? 'null')
}

function containerOf(value: object): Container {
  if (Array.isArray(value)) return { keys: null, parts: value, texts: [] }
  const given = Object.entries(value).filter(([, part]) => part !== undefined)
  // An object lists its integer keys first, and stored digests depend on that order.
  const sorted = Object.fromEntries(given.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { keys: Object.keys(sorted), parts: Object.values(sorted), texts: [] }
}

function printContainer({ keys, texts }: Container): string {
  if (keys === null) return `[${texts.join(',')}]`
  return `{${keys.map((key, at) => `${JSON.stringify(key)}:${texts[at]}`).join(',')}}`
}
