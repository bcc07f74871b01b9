import type { Store } from '../../src/store/store.js'
import { insertChild } from '../../src/store/threads/children.js'
import type { NewChild } from '../../src/store/threads/children.js'
import { insertThread } from '../../src/store/threads/threads.js'
import type { NewThread } from '../../src/store/threads/threads.js'

interface ChildRows {
  readonly id: string
  readonly parent: string
  readonly root: string
  readonly createdAt?: number
  /** Of its thread, where it is not a running one. */
  readonly thread?: Partial<NewThread>
  /** Of its parent's registry, where it is not an instance that stays. */
  readonly entry?: Partial<NewChild>
}

/** The rows of a child, as its parent's call writes them. */
export async function addChildRows(
  store: Store,
  { id, parent, root, createdAt = 1, thread, entry }: ChildRows,
): Promise<void> {
  await store.write(async (tx) => {
    await insertThread(tx, {
      ...{ id, agent: 'helper', created_at: createdAt, status: 'running' },
      ...{ parent_thread_id: parent, root_thread_id: root },
      ...thread,
    })
    await insertChild(tx, {
      ...{ parent_thread_id: parent, reference: id, call_id: 'call_1_0', agent: 'helper' },
      ...{ name: 'research', description: 'Researches', thread_name: `of ${id}` },
      ...{ resumable: true, blocking: false, created_at: createdAt, status: 'running' },
      ...entry,
    })
  })
}
