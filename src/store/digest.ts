import { createHash } from 'node:crypto'

import type { JsonValue } from '../protocol/json.js'

/** SHA-256 of a value, the same whatever the order of its keys: two are equal if and only if their digests are. */
export function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
