import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import type { ChildrenTable } from '../schema.js'
import type { Reader } from '../store.js'

/** The resumable children of a thread in order of creation. Read for each call, so without reports. */
export async function registeredChildren(
  db: Reader,
  parentThreadId: string,
): Promise<readonly SubagentRegistryEntry[]> {
  const rows = await registered(db, parentThreadId).where('resumable', '=', 1).execute()
  return rows.map(registryEntry)
}

/** All children that a thread ever started, in the same order. */
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

/** The columns of a registry entry; reports are not read. */
export const REGISTRY_COLUMNS = [
  'children.reference',
  'children.name',
  'children.title',
  'children.description',
  'children.resumable',
  'children.blocking',
  'children.thread_name',
  'children.spawn_group_id',
  'children.created_at',
  'children.status',
  'children.status_text',
  'children.parent_communication',
] as const

type Column = (typeof REGISTRY_COLUMNS)[number] extends `children.${infer Name}` ? Name : never

/** The registry entry that callers see. */
export function registryEntry(child: Pick<Selectable<ChildrenTable>, Column>): SubagentRegistryEntry {
  return {
    reference: child.reference,
    name: child.name,
    ...(child.title !== null && { title: child.title }),
    description: child.description,
    resumable: child.resumable !== 0,
    blocking: child.blocking !== 0,
    ...(child.thread_name !== null && { threadName: child.thread_name }),
    ...(child.spawn_group_id !== null && { spawnGroupId: child.spawn_group_id }),
    createdAt: child.created_at,
    status: child.status_text ?? child.status,
    parentCommunication: child.parent_communication === 'explicit' ? 'explicit' : 'implicit',
  }
}

/** What a model is told about an open resumable child. */
export type OpenInstance = Pick<
  Selectable<ChildrenTable>,
  'reference' | 'name' | 'title' | 'description' | 'status'
> & { readonly threadName: string | null }

/** The open resumable children of a thread, in order of creation. */
export async function listOpenInstances(
  db: Reader,
  parentThreadId: string,
): Promise<readonly OpenInstance[]> {
  return db
    .selectFrom('children')
    .select(['reference', 'name', 'title', 'thread_name as threadName', 'description'])
    .select(sql<string>`coalesce(status_text, status)`.as('status'))
    .where('parent_thread_id', '=', parentThreadId)
    .where('resumable', '=', 1)
    .where('closed_at', 'is', null)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
}

/** The number of them with this agent, which `maxInstances` bounds. */
export async function countOpenInstances(
  db: Reader,
  { parentThreadId, agent }: { readonly parentThreadId: string; readonly agent: string },
): Promise<number> {
  const { count } = await db
    .selectFrom('children')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('parent_thread_id', '=', parentThreadId)
    .where('agent', '=', agent)
    .where('resumable', '=', 1)
    .where('closed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
