/** What JSON can carry; every value that enters the store or crosses the Temporal boundary is one. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object; a field that is undefined is left out. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** Why `JSON.stringify` has thrown, as the end of a sentence that says what was expected. */
export function unwritableJson(error: unknown): string {
  return error instanceof RangeError
    ? 'got a value that is nested too deep: flatten it, or give it as a text or file.'
    : 'got a ring or a BigInt.'
}
