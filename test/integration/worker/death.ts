import type { Store, Writer } from '../../../src/store/store.js'

/** Where a worker process kills itself: at the transaction that brings an operation into this state. */
export interface Death {
  readonly threadId: string
  /** `child`: the operation is one of a child of the thread. */
  readonly of: 'thread' | 'child'
  readonly operation: string
  readonly state: 'drained' | 'started' | 'waiting' | 'finished'
  readonly when: 'before its commit' | 'after its commit'
}

/** A store whose process dies, as by `kill -9`, at the commit that `death` names. */
export function mortalStore(store: Store, death: () => Death | undefined): Store {
  return {
    ...store,
    async write<T>(work: (tx: Writer) => Promise<T>): Promise<T> {
      let reached: Death | undefined
      const answer = await store.write(async (tx) => {
        const made = await work(tx)
        const named = death()
        if (named !== undefined && (await isReached(tx, named))) reached = named
        if (reached?.when === 'before its commit') die()
        return made
      })
      if (reached !== undefined) die()
      return answer
    },
  }
}

async function isReached(tx: Writer, death: Death): Promise<boolean> {
  const owner = death.of === 'thread' ? 'threads.id' : 'threads.parent_thread_id'
  const row = await tx
    .selectFrom('operations')
    .innerJoin('threads', 'threads.id', 'operations.thread_id')
    .select('operations.id')
    .where(owner, '=', death.threadId)
    .where('operations.id', '=', death.operation)
    .where('operations.state', '=', death.state)
    .executeTakeFirst()
  return row !== undefined
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}
