/**
 * Redaction by the names of fields, of what a person is shown before they approve.
 * Owns: which names are secret, and how a person's changed copy gets the hidden values back.
 * Does not own: the redaction of declared secrets by their values (`activities/variables/redactor.ts`).
 */
import { isDeepStrictEqual } from 'node:util'

import { isObject } from '../protocol/values.js'
import type { JsonValue } from '../protocol/values.js'

/** What stands in the place of a hidden value. */
const HIDDEN = '[redacted]'

/** Parts of names that are hidden, in lower case and without separators. */
const SECRET_NAMES = [
  'password',
  'passphrase',
  'secret',
  'apikey',
  'accesstoken',
  'refreshtoken',
  'authtoken',
  'bearertoken',
  'authorization',
  'privatekey',
  'credential',
  'cardnumber',
  'cvv',
  'cvc',
  'socialsecurity',
  'ssn',
] as const

/** Names that are hidden only as a whole: as parts they mean other things, such as `tokens`. */
const SECRET_WORDS: ReadonlySet<string> = new Set(['token', 'pin', 'cookie'])

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  return SECRET_WORDS.has(plain) || SECRET_NAMES.some((secret) => plain.includes(secret))
}

/** A copy without the values of fields whose names tell that they are secret. */
export function redactFields(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(redactFields)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, JsonValue>>).map(([name, inner]) => [
      name,
      isSecretName(name) && inner !== null ? HIDDEN : redactFields(inner),
    ]),
  )
}

/**
 * A person's changed copy of what was shown, with the values that were hidden from them where they left them as they are. Within a
 * list only entries that nothing was changed in get theirs: any other may be another entry by now.
 */
export function restoreFields(changed: JsonValue, original: JsonValue): JsonValue {
  if (Array.isArray(changed)) {
    const entries: readonly JsonValue[] = Array.isArray(original) ? original : []
    return changed.map((entry: JsonValue, index) => {
      const before = entries[index]
      const isSame = before !== undefined && isDeepStrictEqual(entry, redactFields(before))
      return isSame ? before : entry
    })
  }
  if (!isObject(changed)) return changed
  const known = isObject(original) ? (original as Readonly<Record<string, JsonValue>>) : {}
  return Object.fromEntries(
    Object.entries(changed as Readonly<Record<string, JsonValue>>).map(([name, inner]) => {
      const before = Object.hasOwn(known, name) ? known[name] : undefined
      if (inner === HIDDEN && isSecretName(name) && before !== undefined) return [name, before]
      return [name, restoreFields(inner, before ?? null)]
    }),
  )
}

/** The name of a secret field whose value is still hidden; undefined: none is. */
export function hiddenField(value: JsonValue): string | undefined {
  if (Array.isArray(value)) return value.map(hiddenField).find((name) => name !== undefined)
  if (!isObject(value)) return undefined
  return Object.entries(value as Readonly<Record<string, JsonValue>>)
    .map(([name, inner]) => (inner === HIDDEN && isSecretName(name) ? name : hiddenField(inner)))
    .find((name) => name !== undefined)
}
