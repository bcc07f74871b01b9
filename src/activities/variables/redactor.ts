/**
 * T5: redacts the secrets that a state has given to code: `[secret NAME]` replaces the value in texts.
 * Owns: which secrets one state has given out, and which parts of values are searched.
 * Does not own: the secrets that the process knows (`store/known-secrets.ts`).
 * It finds a value unchanged, without surrounding blanks, and as JSON and URLs encode it. It does not find values that code
 * has transformed (base64, a digest, a part), nor values so short that ordinary words contain them.
 */
import { createTextRedactor } from '../../policy/text-redactor.js'
import type { TextRedactor } from '../../policy/text-redactor.js'
import { readThrown } from '../thrown.js'

/** The secrets that one state has given out. */
export interface Redactor extends Omit<TextRedactor, 'empty'> {
  /**
   * Redacts all texts of a value, including the names of its fields. A value without secrets is returned unchanged;
   * bytes are not searched.
   */
  redactJson<Value>(value: Value): Value
  /** Redacts a thrown value, with its stack. */
  redactThrown(thrown: unknown): unknown
}

/** Stored JSON is never as deep; without a bound a value could overflow the stack. */
const DEPTH = 500
const TOO_DEEP = '[nested too deep]'

export function createRedactor(): Redactor {
  const texts = createTextRedactor()
  return {
    note: texts.note,
    redact: texts.redact,
    split: texts.split,
    // Redaction keeps the shape: only texts differ, and bytes stay.
    redactJson: <Value>(value: Value): Value =>
      texts.empty ? value : (walk(value, texts.redact, new Set()) as Value),
    redactThrown: (thrown) => (texts.empty ? thrown : redactThrown(thrown, texts.redact)),
  }
}

type Redact = (text: string) => string

function walk(value: unknown, redact: Redact, above: Set<object>): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') return redactNumber(value, redact)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  // A cyclic value is refused where it is stored, because JSON cannot represent it.
  if (above.has(value)) return value
  if (above.size >= DEPTH) return TOO_DEEP
  above.add(value)
  const redacted = Array.isArray(value) ? walkList(value, redact, above) : walkObject(value, redact, above)
  above.delete(value)
  return redacted
}

/** Redacts a number only if the secret is the whole number. */
function redactNumber(value: number, redact: Redact): unknown {
  const text = redact(String(value))
  return /^\[secret .*\]$/.test(text) ? text : value
}

function walkList(list: readonly unknown[], redact: Redact, above: Set<object>): readonly unknown[] {
  const redacted = list.map((part) => walk(part, redact, above))
  return redacted.some((part, index) => !Object.is(part, list[index])) ? redacted : list
}

function walkObject(value: object, redact: Redact, above: Set<object>): unknown {
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON()
    const redacted = walk(json, redact, above)
    return Object.is(redacted, json) ? value : redacted
  }
  let same = true
  const entries = Object.entries(value).map(([name, part]: [string, unknown]) => {
    const entry = [redact(name), walk(part, redact, above)] as const
    same &&= entry[0] === name && Object.is(entry[1], part)
    return entry
  })
  return same ? value : Object.fromEntries(entries)
}

function redactThrown(thrown: unknown, redact: Redact): unknown {
  const given = readThrown(thrown)
  const message = redact(given.message)
  const stack = given.stack === null ? null : redact(given.stack)
  if (message === given.message && stack === given.stack) return thrown
  const error = new Error(message)
  if (thrown instanceof Error) error.name = thrown.name
  error.stack = stack ?? ''
  return error
}
