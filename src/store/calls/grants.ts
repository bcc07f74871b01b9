/**
 * Grants: approvals that a person wants remembered.
 * Owns: their rows, which of them holds for a call, and the events that one is given and revoked, in the thread in which it was given.
 * Does not own: when one counts (`policy/judge.ts`), and how it is given (`client/answers/`).
 */
import type { Selectable } from 'kysely'
import { demandsMore } from '../../policy/approval.js'
import type { CombinedApproval } from '../../policy/approval.js'
import { fact } from '../../protocol/facts.js'
import type { Micros } from '../../protocol/time.js'
import { appendEvents } from '../events.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import { isOpen } from '../threads/open-threads.js'
import { findThread } from '../threads/threads.js'
import type { ThreadRecord } from '../threads/threads.js'

/** For what a grant holds: this thread, all threads of its tree, or all threads of its user. */
export type GrantScope = 'thread' | 'tree' | 'user'

type Columns = { capabilities: readonly string[] | null; approval: CombinedApproval | null }

export type GrantRecord = Decoded<Selectable<Schema['grants']>, Columns>

const codec = rowCodec<Selectable<Schema['grants']>, Columns>({ json: ['capabilities', 'approval'] })

type Owner = Pick<ThreadRecord, 'id' | 'root_thread_id' | 'account' | 'user_id'>

/** The subject of each scope; a thread without a user has none for that. */
function subjectOf(
  scope: GrantScope,
  { id, root_thread_id: root, account, user_id: user }: Owner,
): string | null {
  if (scope === 'user') return user === null ? null : JSON.stringify([scope, account, user])
  return JSON.stringify([scope, scope === 'thread' ? id : root])
}

/** The subjects whose grants hold for a thread. */
function subjectsOf(owner: Owner): readonly string[] {
  return (['thread', 'tree', 'user'] as const).flatMap((scope) => subjectOf(scope, owner) ?? [])
}

type NewGrant = Omit<
  GrantRecord,
  'subject' | 'thread_id' | 'account' | 'user_id' | 'given_in' | 'revoked_at'
> & {
  readonly scope: GrantScope
}

/** Returns false, and writes nothing, if the scope is a user and the thread has none. The same id again changes nothing. */
export async function insertGrant(tx: Writer, owner: Owner, { scope, ...grant }: NewGrant): Promise<boolean> {
  const subject = subjectOf(scope, owner)
  if (subject === null) return false
  const threads = { thread: owner.id, tree: owner.root_thread_id, user: null } as const
  const whose = { account: owner.account, user_id: owner.user_id, given_in: owner.id }
  const { numInsertedOrUpdatedRows: made = 0n } = await tx
    .insertInto('grants')
    .values(codec.toRow({ ...grant, ...whose, subject, thread_id: threads[scope], revoked_at: null }))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  const { id: grantId, granted_by: by, created_at: now } = grant
  const given = fact('policy.changed', { subject: scope, change: 'grant_given', grantId, by })
  if (made > 0n) await appendEvents(tx, { threadId: owner.id, events: [given], now })
  return true
}

interface GrantedCall {
  readonly toolName: string
  readonly capabilities: readonly string[]
  readonly argumentsDigest: string
  /** Who would have to answer. */
  readonly approval: CombinedApproval
  readonly now: Micros
}

/** The oldest grant that holds for a call; null if none does. */
export async function findGrant(
  db: Reader,
  owner: Owner,
  { toolName, capabilities, argumentsDigest, approval, now }: GrantedCall,
): Promise<GrantRecord | null> {
  const rows = await db
    .selectFrom('grants')
    .selectAll()
    .where('subject', 'in', subjectsOf(owner))
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const holds = (grant: GrantRecord): boolean => {
    if (grant.expires_at !== null && grant.expires_at <= now) return false
    if (demandsMore(approval, grant.approval ?? {})) return false
    if (grant.capabilities === null)
      return grant.tool_name === toolName && grant.arguments_digest === argumentsDigest
    const granted = grant.capabilities
    return capabilities.length > 0 && capabilities.every((capability) => granted.includes(capability))
  }
  return rows.map(codec.fromRow).find(holds) ?? null
}

interface GrantFilter {
  /** Those that hold for this thread. */
  readonly owner?: Owner
  readonly account?: string
  readonly userId?: string
  readonly limit: number
  /** Only ids after this one. */
  readonly after?: string
}

/** A page of grants that are not revoked, by id. */
export async function listGrants(
  db: Reader,
  { owner, account, userId, limit, after }: GrantFilter,
): Promise<readonly GrantRecord[]> {
  let query = db.selectFrom('grants').selectAll().where('revoked_at', 'is', null)
  if (owner !== undefined) query = query.where('subject', 'in', subjectsOf(owner))
  if (account !== undefined) query = query.where('account', '=', account)
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  if (after !== undefined) query = query.where('id', '>', after)
  return (await query.orderBy('id').limit(limit).execute()).map(codec.fromRow)
}

interface RevokedGrant {
  readonly id: string
  /** Only one of this account. */
  readonly account: string | undefined
  readonly now: Micros
}

/** Revokes a grant; the first time counts, and is an event of the thread in which it was given, if that is open. Returns whether there is one. */
export async function revokeGrant(tx: Writer, { id, account, now }: RevokedGrant): Promise<boolean> {
  let query = tx.selectFrom('grants').selectAll().where('id', '=', id)
  if (account !== undefined) query = query.where('account', '=', account)
  const row = await query.executeTakeFirst()
  if (row === undefined) return false
  const { numUpdatedRows: revoked } = await tx
    .updateTable('grants')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  const given = revoked === 0n ? null : await findThread(tx, row.given_in)
  if (given === null || !isOpen(given)) return true
  const change = { subject: scopeOf(row), change: 'grant_revoked', grantId: id } as const
  await appendEvents(tx, { threadId: given.id, events: [fact('policy.changed', change)], now })
  return true
}

/** For what a grant holds. */
export function scopeOf({ subject }: Pick<GrantRecord, 'subject'>): GrantScope {
  // Written by `insertGrant`: the store's boundary.
  const [scope] = JSON.parse(subject) as [GrantScope]
  return scope
}
