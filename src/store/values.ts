import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { Reader, Writer } from './store.js'

/** Undefined if there is none. */
export async function getValue(db: Reader, threadId: string, key: string): Promise<JsonValue | undefined> {
  const row = await db
    .selectFrom('thread_values')
    .select('value')
    .where('thread_id', '=', threadId)
    .where('key', '=', key)
    .executeTakeFirst()
  return row === undefined ? undefined : (JSON.parse(row.value) as JsonValue)
}

export interface NewValue {
  readonly threadId: string
  readonly key: string
  /** `undefined` deletes. */
  readonly value: JsonValue | undefined
}

export async function setValue(tx: Writer, { threadId, key, value }: NewValue): Promise<void> {
  if (value === undefined) {
    await tx.deleteFrom('thread_values').where('thread_id', '=', threadId).where('key', '=', key).execute()
    return
  }
  const text = JSON.stringify(value)
  await tx
    .insertInto('thread_values')
    .values({ thread_id: threadId, key, value: text })
    .onConflict((conflict) => conflict.columns(['thread_id', 'key']).doUpdateSet({ value: text }))
    .execute()
}

/** All values of a thread by key. */
export async function listValues(db: Reader, threadId: string): Promise<JsonObject> {
  const rows = await db
    .selectFrom('thread_values')
    .select(['key', 'value'])
    .where('thread_id', '=', threadId)
    .orderBy('key')
    .execute()
  return Object.fromEntries(rows.map((row) => [row.key, JSON.parse(row.value) as JsonValue]))
}
