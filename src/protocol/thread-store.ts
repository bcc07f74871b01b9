/** How a thread is tied to its store: by the store's id, in its start, in its memo and in the input of each activity. */

/** What the guard of activities adds to an answer whose input named no store: whose worker has carried it out. */
export interface StoreAnswer {
  readonly store?: string
}

/** As `store/store-id.ts` makes it. */
export function isStoreId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-z]{12}$/.test(value)
}

/** In the memo of a thread: the id of its store. One that was started by hand has none. */
export const STORE_MEMO = 'store'
