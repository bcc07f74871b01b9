import type { SubagentRegistryEntry } from '../protocol/subagent.js'
import type { Reader } from './store.js'
import { REGISTRY_COLUMNS, registryEntry } from './registry-entry.js'

/** The children of a thread that stay, in the order in which they were made. Read for each call of it: reports stay out. */
export async function registeredChildren(
  db: Reader,
  parentThreadId: string,
): Promise<readonly SubagentRegistryEntry[]> {
  const rows = await registered(db, parentThreadId).where('resumable', '=', 1).execute()
  return rows.map(registryEntry)
}

/** All that a thread ever started, in the same order. */
export async function allRegistered(
  db: Reader,
  parentThreadId: string,
): Promise<readonly SubagentRegistryEntry[]> {
  return (await registered(db, parentThreadId).execute()).map(registryEntry)
}

function registered(db: Reader, parentThreadId: string) {
  return db
    .selectFrom('children')
    .select(REGISTRY_COLUMNS)
    .where('parent_thread_id', '=', parentThreadId)
    .orderBy('created_at')
    .orderBy('reference')
}
