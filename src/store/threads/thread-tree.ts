import { sql } from 'kysely'
import type { JoinBuilder, Selectable } from 'kysely'

import type { SubagentRegistryEntry } from '../../protocol/status.js'
import type { Schema } from '../schema.js'
import type { Reader } from '../store.js'
import type { Micros } from '../../protocol/time.js'

type Row = Pick<Selectable<Schema['threads']>, 'id' | 'parent_thread_id' | 'agent' | 'status' | 'closed_at'>

/** A thread of a tree. */
export interface ThreadNode extends Row {
  /** Null if the parent's registry has no entry: the thread is a root, or was started by hand. */
  readonly entry: SubagentRegistryEntry | null
}

/** The thread and all its descendants, oldest first; empty if there is no such thread. */
export async function threadsFrom(db: Reader, threadId: string): Promise<readonly ThreadNode[]> {
  const threads = await treeOf(db, threadId)
    .select([
      'threads.id',
      'threads.parent_thread_id',
      'threads.agent',
      'threads.status',
      'threads.closed_at',
    ])
    .orderBy('threads.created_at')
    .orderBy('threads.id')
    .execute()
  const entries = await entriesOf(db, threadId)
  return threads.map((thread) => ({ ...thread, entry: entries.get(thread.id) ?? null }))
}

async function entriesOf(db: Reader, threadId: string): Promise<ReadonlyMap<string, SubagentRegistryEntry>> {
  const rows = await treeOf(db, threadId).innerJoin('children', entry).select(REGISTRY_COLUMNS).execute()
  return new Map(rows.map((row) => [row.reference, registryEntry(row)]))
}

/** A thread that is not closed, and the sequence of its last event. */
interface OpenThread {
  readonly id: string
  readonly lastSequence: number
}

/** The open descendants of a thread, without deferred ones, which have not been started. */
export async function openThreadsBelow(db: Reader, threadId: string): Promise<readonly OpenThread[]> {
  const rows = await treeOf(db, threadId)
    .leftJoin('children', entry)
    .select(['threads.id', 'last_sequence'])
    .where('threads.id', '!=', threadId)
    .where('threads.closed_at', 'is', null)
    .where((where) =>
      where.or([where('children.status', 'is', null), where('children.status', '!=', 'deferred')]),
    )
    .execute()
  return rows.map(({ id, last_sequence: lastSequence }) => ({ id, lastSequence }))
}

/** Joins the registry entry of a thread. */
function entry<Joined extends JoinBuilder<Pick<Schema, 'threads' | 'children'>, 'threads' | 'children'>>(
  join: Joined,
) {
  return join
    .onRef('children.parent_thread_id', '=', 'threads.parent_thread_id')
    .onRef('children.reference', '=', 'threads.id')
}

/** The thread and all its descendants, each once: a parent that a person named may be a descendant of its child. */
function treeOf(db: Reader, threadId: string) {
  return db
    .withRecursive('tree', (tree) =>
      tree
        .selectFrom('threads')
        .select('id')
        .where('id', '=', threadId)
        .union(
          tree
            .selectFrom('threads')
            .innerJoin('tree', 'tree.id', 'threads.parent_thread_id')
            .select('threads.id'),
        ),
    )
    .selectFrom('tree')
    .innerJoin('threads', 'threads.id', 'tree.id')
}

/** A thread of a tree that is to be deleted. */
interface SubtreeThread {
  readonly id: string
  readonly parent: string | null
  /** Microseconds; null while it is open. */
  readonly closedAt: Micros | null
}

/** The thread and all its descendants, each before its parent, so that the rest of an interrupted deletion is still reachable. */
export async function subtreeOf(db: Reader, threadId: string): Promise<readonly SubtreeThread[]> {
  const rows = await treeOf(db, threadId)
    .select(['threads.id', 'threads.parent_thread_id as parent', 'threads.closed_at as closedAt'])
    .execute()
  return sortDeepestFirst(rows, threadId)
}

function sortDeepestFirst(rows: readonly SubtreeThread[], threadId: string): readonly SubtreeThread[] {
  const below = new Map<string, SubtreeThread[]>()
  const top = rows.filter(({ id }) => id === threadId)
  for (const row of rows) {
    if (row.id === threadId || row.parent === null) continue
    const siblings = below.get(row.parent)
    if (siblings === undefined) below.set(row.parent, [row])
    else siblings.push(row)
  }
  const ordered = [...top]
  // The list grows while it is iterated, level by level.
  for (const { id } of ordered) ordered.push(...(below.get(id) ?? []))
  return ordered.toReversed()
}

/** The resumable children of a thread in order of creation. Read for each call, so without reports. */
export async function listResumableChildren(
  db: Reader,
  parentThreadId: string,
): Promise<readonly SubagentRegistryEntry[]> {
  const rows = await selectRegistry(db, parentThreadId).where('resumable', '=', 1).execute()
  return rows.map(registryEntry)
}

interface ChildrenPage {
  readonly parentThreadId: string
  /** The last child of the page before; left out: the first page. */
  readonly after?: Pick<SubagentRegistryEntry, 'createdAt' | 'reference'>
  readonly limit: number
}

/**
 * The children that a thread ever started, in the same order, a page at a time. The index has those of each kind in order: a page
 * reads that many of both, however many there are.
 */
export async function listRegisteredChildren(
  db: Reader,
  { parentThreadId, after, limit }: ChildrenPage,
): Promise<readonly SubagentRegistryEntry[]> {
  const found: SubagentRegistryEntry[] = []
  for (const resumable of [0, 1]) {
    let query = selectRegistry(db, parentThreadId).where('resumable', '=', resumable)
    if (after !== undefined)
      query = query.where((where) =>
        where(where.refTuple('created_at', 'reference'), '>', where.tuple(after.createdAt, after.reference)),
      )
    found.push(...(await query.limit(limit).execute()).map(registryEntry))
  }
  return found.toSorted(compareAge).slice(0, limit)
}

function compareAge(one: SubagentRegistryEntry, other: SubagentRegistryEntry): number {
  return one.createdAt - other.createdAt || (one.reference < other.reference ? -1 : 1)
}

function selectRegistry(db: Reader, parentThreadId: string) {
  return db
    .selectFrom('children')
    .select(REGISTRY_COLUMNS)
    .where('parent_thread_id', '=', parentThreadId)
    .orderBy('created_at')
    .orderBy('reference')
}

/** The columns of a registry entry; reports are not read. */
const REGISTRY_COLUMNS = [
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
function registryEntry(child: Pick<Selectable<Schema['children']>, Column>): SubagentRegistryEntry {
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

/** An open resumable child as a model sees it. */
export type OpenInstance = Pick<
  Selectable<Schema['children']>,
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
