/** What JSON can carry; every value that enters the store or crosses the Temporal boundary is one. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object; a field that is undefined is left out. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}
