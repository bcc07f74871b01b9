import { createHash } from 'node:crypto'
import type { JsonValue } from '../protocol/values.js'

/** SHA-256 of a value, the same whatever the order of its keys: two are equal if and only if their digests are. */
export function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** A list or object whose parts are being printed, one after the other. */
interface Opened {
  /** Null: a list. */
  readonly keys: readonly string[] | null
  readonly parts: readonly unknown[]
  readonly texts: string[]
}

/** As `JSON.stringify` prints it, with sorted keys; without recursion, for a model nests what it likes (T10). */
function canonicalJson(value: JsonValue): string {
  let text = textOf(value)
  const above: Opened[] = text === null ? [opened(value as object)] : []
  for (let last = above.at(-1); last !== undefined; last = above.at(-1)) {
    if (last.texts.length === last.parts.length) {
      above.pop()
      text = closed(last)
      above.at(-1)?.texts.push(text)
      continue
    }
    const part = last.parts[last.texts.length]
    const printed = textOf(part)
    if (printed === null) above.push(opened(part as object))
    else last.texts.push(printed)
  }
  return text ?? ''
}

/** Null: it has parts. */
function textOf(part: unknown): string | null {
  return typeof part === 'object' && part !== null ? null : (JSON.stringify(part) ?? 'null')
}

function opened(value: object): Opened {
  if (Array.isArray(value)) return { keys: null, parts: value, texts: [] }
  const given = Object.entries(value).filter(([, part]) => part !== undefined)
  // An object has keys that are numbers first: so it was printed when the first digests were stored.
  const sorted = Object.fromEntries(given.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { keys: Object.keys(sorted), parts: Object.values(sorted), texts: [] }
}

function closed({ keys, texts }: Opened): string {
  if (keys === null) return `[${texts.join(',')}]`
  return `{${keys.map((key, at) => `${JSON.stringify(key)}:${texts[at]}`).join(',')}}`
}
