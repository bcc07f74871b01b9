import type { Selectable } from 'kysely'

import type { SubagentRegistryEntry } from '../protocol/subagent.js'
import type { ChildrenTable } from './schema.js'

/** What the registry shows of a child; its reports are not read. */
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

/** A row of the registry as callers see it. */
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
