import { LIMITS } from './limits.js'

/** A JSON value. Every value that enters the store or crosses the Temporal boundary is one. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object; a field that is undefined is left out. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** Explains why `JSON.stringify` has thrown, as the end of a sentence about the expected value. */
export function unwritableJson(error: unknown): string {
  return error instanceof RangeError
    ? 'got a value that is nested too deep: flatten it, or give it as a text or file.'
    : 'got a ring or a BigInt.'
}

/** Bytes of a text as UTF-8; plain arithmetic, since the workflow sandbox need not have TextEncoder. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}

/** The shapes of values that the wire contract is made of. */

export type Fields = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Writes an id so that a header can carry it: whoever chose it may have used any characters. Two ids stay two. */
export function toHeaderValue(id: string): string {
  return id.replaceAll(/[^\u0021-\u007E]|%/gu, encodeURIComponent)
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LIMITS.threadIdLength
}

/** True if Temporal accepts the value as the name of a task queue. Names that begin with `/_sys/` are the server's own. */
export function isTaskQueue(value: unknown): value is string {
  return typeof value === 'string' && !value.startsWith('/_sys/') && !/\p{Cc}/u.test(value)
}

/** Explains why a value cannot be the name of a variable; undefined if it can. */
export function variableNameProblem(name: unknown): string | undefined {
  const expected = `Expected the name of a variable to be a text of 1 to ${LIMITS.nameLength} characters without control characters`
  if (typeof name !== 'string') return `${expected}, got ${name === null ? 'null' : `a ${typeof name}`}.`
  if (name.length === 0 || name.length > LIMITS.nameLength) return `${expected}, got one of ${name.length}.`
  return /\p{Cc}/u.test(name) ? `${expected}, got one with such a character.` : undefined
}

/**
 * Explains why a value cannot be the value of a variable, without showing it; undefined if it can. An empty text is
 * valid.
 */
export function variableValueProblem(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string')
    return `Expected the value of the variable "${name}" to be a text, got ${value === null ? 'null' : `a ${typeof value}`}.`
  const bytes = new TextEncoder().encode(value).byteLength
  if (bytes <= LIMITS.variableBytes) return undefined
  return `Expected the value of the variable "${name}" to have at most ${LIMITS.variableBytes} bytes, got ${bytes}: write it to a file.`
}

/**
 * Removes the fields that are undefined: they must not hide a default, and `exactOptionalPropertyTypes` distinguishes
 * an absent field from an undefined one.
 */
export function withoutUndefined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The type of `fromEntries` loses the names of the fields.
  return Object.fromEntries(defined) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> }
}

/**
 * Refuses half a character (a lone surrogate) in an id or name. No database and no server keeps it unchanged: the row would
 * have another id than the one that was given.
 */
export function halfCharacterProblem(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string' || !/\p{Surrogate}/u.test(text)) return undefined
  return `Expected ${what} of whole characters, got half of one, as slice() leaves it in the middle of an emoji.`
}

/** The end of a sentence about an unknown name: a known name that is nearly equal, or nothing. */
export function suggestName(name: string, known: Iterable<string>): string {
  const near = nearName(name, known)
  return near === undefined ? '' : `: did you mean '${near}'?`
}

/** The nearest known name, if the difference is as small as a typing error. */
function nearName(name: string, known: Iterable<string>): string | undefined {
  const most = name.length < 4 ? 1 : 2
  const ranked = [...known]
    .map((other) => ({ other, distance: distanceOf(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= most && distance < other.length)
    .toSorted((left, right) => left.distance - right.distance)
  return ranked[0]?.other
}

/** The number of letters to add, leave out or change (Levenshtein). */
function distanceOf(left: string, right: string): number {
  const others = Array.from(right)
  let row = Array.from({ length: others.length + 1 }, (_, index) => index)
  for (const [index, letter] of Array.from(left).entries()) {
    const next = [index + 1]
    for (const [at, other] of others.entries()) {
      const changed = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
