import type { Store } from '../../src/store/store.js'

const TABLES = [
  'messages',
  'tool_calls',
  'operations',
  'runs',
  'children',
  'files',
  'thread_values',
  'events',
  'deltas',
  'errors',
  'pending',
  'effects',
  'variables',
] as const

/** All that is stored of threads, but for the bytes of files, as one text. */
export function rows({ store }: { readonly store: Store }): Promise<string> {
  return store.read(async (db) => {
    const found = await Promise.all(TABLES.map((table) => db.selectFrom(table).selectAll().execute()))
    return JSON.stringify(found)
  })
}
