import type { SubagentRegistryEntry } from '../protocol/subagent.js'
import type { Reader } from './store.js'
import { registryEntry } from './registry-entry.js'

/** The children of a thread that stay, in the order in which they were made. Read for each call of it: reports stay out. */
export async function registeredChildren(
  db: Reader,
  parentThreadId: string,
): Promise<readonly SubagentRegistryEntry[]> {
  const rows = await db
    .selectFrom('children')
    .select(['reference', 'name', 'title', 'description', 'resumable', 'blocking', 'thread_name'])
    .select(['spawn_group_id', 'created_at', 'status', 'status_text', 'parent_communication'])
    .where('parent_thread_id', '=', parentThreadId)
    .where('resumable', '=', 1)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return rows.map(({ resumable, blocking, parent_communication: told, ...row }) =>
    registryEntry({
      ...row,
      resumable: resumable !== 0,
      blocking: blocking !== 0,
      parent_communication: told === 'explicit' ? told : 'implicit',
    }),
  )
}
