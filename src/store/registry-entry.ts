import type { SubagentRegistryEntry } from '../protocol/subagent.js'
import type { ChildRecord } from './children.js'

type Registered = Pick<
  ChildRecord,
  | 'reference'
  | 'name'
  | 'title'
  | 'description'
  | 'resumable'
  | 'blocking'
  | 'thread_name'
  | 'spawn_group_id'
  | 'created_at'
  | 'status'
  | 'status_text'
  | 'parent_communication'
>

/** A row of the registry as callers see it. */
export function registryEntry(child: Registered): SubagentRegistryEntry {
  return {
    reference: child.reference,
    name: child.name,
    ...(child.title !== null && { title: child.title }),
    description: child.description,
    resumable: child.resumable,
    blocking: child.blocking,
    ...(child.thread_name !== null && { threadName: child.thread_name }),
    ...(child.spawn_group_id !== null && { spawnGroupId: child.spawn_group_id }),
    createdAt: child.created_at,
    status: child.status_text ?? child.status,
    parentCommunication: child.parent_communication,
  }
}
