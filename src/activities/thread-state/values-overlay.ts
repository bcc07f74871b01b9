import type { JsonValue } from '../../protocol/values.js'
import type { Store, Writer } from '../../store/store.js'
import { getValue, setValue } from '../../store/threads/variables.js'
import { jsonCopy } from './strict-json.js'

/** Keys are indexed. */
const KEY_LENGTH = 256

/** A thread's values as one call sees them. */
export interface ValuesOverlay {
  readonly get: (key: string) => Promise<JsonValue>
  /** `undefined` deletes. */
  readonly set: (key: string, value: JsonValue | undefined) => void
  commit(tx: Writer): Promise<void>
}

export function createValuesOverlay(store: Store, threadId: string): ValuesOverlay {
  /** As JSON, so that what the tool does to an object afterwards changes nothing. */
  const written = new Map<string, string | undefined>()
  return {
    async get(key) {
      assertKey(key)
      if (!written.has(key)) return (await store.read((db) => getValue(db, threadId, key))) ?? null
      return parse(written.get(key)) ?? null
    },
    set(key, value) {
      assertKey(key)
      written.set(
        key,
        value === undefined ? undefined : JSON.stringify(jsonCopy(value, `the value of "${key}"`)),
      )
    },
    async commit(tx) {
      for (const [key, text] of written) await setValue(tx, { threadId, key, value: parse(text) })
    },
  }
}

function parse(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue)
}

function assertKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= KEY_LENGTH) return
  const came = typeof key === 'string' ? `one of ${key.length}` : typeof key
  throw new Error(`Expected the key of a value to be a text of 1 to ${KEY_LENGTH} characters, got ${came}.`)
}
