import type { JsonObject, JsonValue } from '../../protocol/values.js'

/** Deeper values would overflow the stack when they are parsed or printed. */
const DEPTH = 500

/** Explains where a value contains something that JSON cannot represent. Keys with undefined values are ignored. */
export function jsonProblem(value: unknown, name: string): string | undefined {
  try {
    return problemAt(value, name, [])
  } catch {
    // A getter or a proxy of the code throws.
    return `Expected JSON at ${name}, got something that throws when it is read.`
  }
}

/** Copies a value, so that later changes do not affect the copy. @throws an error with the path of what is not JSON */
export function jsonCopy(value: unknown, name: string): JsonValue {
  const problem = jsonProblem(value, name)
  if (problem !== undefined) throw new Error(problem)
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

/** As `jsonCopy`, for an object that is neither null nor a list. */
export function jsonObjectCopy(value: unknown, name: string): JsonObject {
  const copy = jsonCopy(value, name)
  if (isJsonObject(copy)) return copy
  throw new Error(`Expected ${name} to be an object, got ${kindOf(value)}.`)
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names the kind of a value, for error messages. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  const { constructor } = value
  const className = typeof constructor === 'function' ? constructor.name : ''
  return className === '' || className === 'Object' ? 'an object' : `an object of class ${className}`
}

function problemAt(value: unknown, path: string, above: readonly object[]): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number' && Number.isFinite(value)) return undefined
  if (typeof value !== 'object') return `Expected JSON at ${path}, got ${kindOf(value)}.`
  if (above.includes(value)) return `Expected JSON at ${path}, got an object that contains itself.`
  if (above.length >= DEPTH) return `Expected JSON of at most ${DEPTH} levels, got more at ${path}.`
  const within = [...above, value]
  if (Array.isArray(value))
    return firstProblem(value.keys(), (at) => problemAt(value[at], `${path}[${at}]`, within))
  if (!isPlain(value)) return `Expected JSON at ${path}, got ${kindOf(value)}.`
  if (Object.getOwnPropertySymbols(value).length > 0)
    return `Expected JSON at ${path}, got a key that is a symbol.`
  return firstProblem(Object.entries(value), ([key, part]) =>
    part === undefined ? undefined : problemAt(part, path + accessTo(key), within),
  )
}

function firstProblem<Part>(
  parts: Iterable<Part>,
  problem: (part: Part) => string | undefined,
): string | undefined {
  for (const part of parts) {
    const found = problem(part)
    if (found !== undefined) return found
  }
  return undefined
}

/** Also true for objects of another realm, whose `Object` is another one. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function accessTo(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
