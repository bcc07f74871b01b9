import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'

/** Which page of a list. */
export interface PageOptions {
  /** `next` of the page before, as it was. @default the first page */
  readonly cursor?: string
  /** @default 50 */
  readonly limit?: number
}

type Field = 'number' | 'string'

/** Where a page ended, as one word that fits into a URL. What is in it is our own business. */
export function cursorOf(place: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** @throws ConfigError for what `cursorOf` has not made of such fields */
export function readCursor(cursor: string, fields: readonly Field[]): readonly (number | string)[] {
  const place = parsed(cursor)
  if (
    Array.isArray(place) &&
    place.length === fields.length &&
    fields.every((field, index) => is(place[index], field))
  )
    return place as readonly (number | string)[]
  throw new ConfigError(['Expected "cursor" to be the "next" of a page of this list, got something else.'])
}

function is(value: unknown, field: Field): boolean {
  return field === 'number' ? Number.isSafeInteger(value) : typeof value === 'string'
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}

/** @throws ConfigError */
export function pageLimit(limit: number = LIMITS.page): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMITS.longestPage) return limit
  throw new ConfigError([`Expected "limit" to be 1 to ${LIMITS.longestPage}, got ${limit}.`])
}
