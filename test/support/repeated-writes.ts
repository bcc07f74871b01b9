import type { Store, Writer } from '../../src/store/store.js'

class Repeat extends Error {}

/**
 * A store that rolls each write back when it is done, and runs it again, as PostgreSQL does when another transaction came
 * between: what a write leaves outside of the database must not tell.
 */
export function withRepeatedWrites(store: Store): Store {
  return {
    ...store,
    async write<T>(work: (tx: Writer) => Promise<T>): Promise<T> {
      try {
        await store.write(async (tx) => {
          await work(tx)
          throw new Repeat()
        })
      } catch (error) {
        if (!(error instanceof Repeat)) throw error
      }
      return store.write(work)
    },
  }
}
