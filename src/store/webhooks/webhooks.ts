/**
 * The rows of webhooks: subscriptions to events that are posted to a URL.
 *
 * Owns: who delivers a webhook, and how far it has come. Does not own: what is posted (`src/client/webhooks`).
 * Invariants: one delivery at a time holds a webhook, until its lease is over by the clock of the store; only the holder moves its
 * position, so that a process which was away for longer than its lease changes nothing.
 */
import { sql } from 'kysely'
import type { RawBuilder, Selectable } from 'kysely'
import type { Micros } from '../../protocol/time.js'
import { toMicros } from '../../protocol/time.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { SecretBox } from '../secret-box.js'
import type { Reader, Store, Writer } from '../store.js'
import type { WebhooksTable } from './tables.js'

export type WebhookState = 'active' | 'failing' | 'paused'

type Columns = { types: readonly string[] | null; state: WebhookState }

export type WebhookRecord = Decoded<Selectable<WebhooksTable>, Columns>

const codec = rowCodec<Selectable<WebhooksTable>, Columns>({ json: ['types'] })

type NewWebhook = Pick<WebhookRecord, 'id' | 'account' | 'thread_id' | 'url' | 'types' | 'cursor'> & {
  /** In plain text. */
  readonly secret: string
  readonly now: Micros
  /** Only the end of this message is posted, once. */
  readonly message?: { readonly threadId: string; readonly messageId: string }
}

/** @throws StoreError `no_key` */
export async function insertWebhook(
  tx: Writer,
  secrets: SecretBox,
  { secret, now, message, ...webhook }: NewWebhook,
): Promise<WebhookRecord> {
  const sealed = secrets.seal(secret, secretPlace(webhook.id))
  const record: WebhookRecord = {
    ...webhook,
    ...{ secret: sealed.value, key_id: sealed.keyId, state: 'active', created_at: now, ...NOT_FAILING },
    ...{ message_thread_id: message?.threadId ?? null, message_id: message?.messageId ?? null },
    ...NOT_HELD,
  }
  await tx.insertInto('webhooks').values(codec.toRow(record)).execute()
  return record
}

const NOT_HELD = { lease_owner: null, lease_until: null } as const

const NOT_FAILING = { attempts: 0, next_attempt_at: null, failing_since: null, error: null } as const

function secretPlace(id: string): Parameters<SecretBox['seal']>[1] {
  return { threadId: '', name: `webhook ${id}` }
}

/** @throws StoreError `no_key`, `corrupt` */
export function openWebhookSecret(secrets: SecretBox, { id, secret, key_id: keyId }: WebhookRecord): string {
  return secrets.open({ value: secret, keyId }, secretPlace(id))
}

/** A subscription; null for the callback of a message. */
export async function findWebhook(db: Reader, id: string): Promise<WebhookRecord | null> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('message_id', 'is', null)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

interface ListWebhooks {
  /** Null: of all accounts, and of none. */
  readonly account: string | null
  readonly after: string
  readonly limit: number
}

/** Subscriptions by id. */
export async function listWebhooks(
  db: Reader,
  { account, after, limit }: ListWebhooks,
): Promise<readonly WebhookRecord[]> {
  let query = db.selectFrom('webhooks').selectAll().where('id', '>', after).where('message_id', 'is', null)
  if (account !== null) query = query.where('account', '=', account)
  return (await query.orderBy('id').limit(limit).execute()).map(codec.fromRow)
}

/** The number of webhooks of an account; null: of those without one. */
export async function countWebhooks(db: Reader, account: string | null): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('account', account === null ? 'is' : '=', account)
    .where('message_id', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

type WebhookPatch = Partial<Pick<WebhookRecord, 'url' | 'types' | 'state' | 'cursor'>>

/**
 * Changes a webhook; another state forgets its failures. The delivery that holds it holds it no more, so that the next event goes by what
 * has changed. Returns false if there is none.
 */
export async function updateWebhook(tx: Writer, id: string, patch: WebhookPatch): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhooks')
    .set({ ...codec.toRow(patch), ...(patch.state !== undefined && NOT_FAILING), ...NOT_HELD })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function deleteWebhook(tx: Writer, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('webhooks').where('id', '=', id).executeTakeFirst()
  return numDeletedRows === 1n
}

/** The webhooks that are delivered, also those whose next attempt has yet to come. */
export async function listDelivered(db: Reader): Promise<readonly WebhookRecord[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('state', 'in', ['active', 'failing'])
    .orderBy('id')
    .execute()
  return rows.map(codec.fromRow)
}

/** A delivery that wants to hold a webhook, or holds it. */
export interface WebhookLease {
  readonly id: string
  /** Unique to this delivery. */
  readonly owner: string
  /** Milliseconds from now. */
  readonly lasts: number
}

/** Takes a webhook that nobody holds. Null: another delivery holds it, or has failed meanwhile, or it is paused or gone. */
export async function takeWebhook(
  tx: Writer,
  clock: Store['clock'],
  { id, owner, lasts, now }: WebhookLease & { readonly now: Micros },
): Promise<WebhookRecord | null> {
  const row = await tx
    .updateTable('webhooks')
    .set({ lease_owner: owner, lease_until: leaseUntil(clock, lasts) })
    .where('id', '=', id)
    .where('state', '!=', 'paused')
    .where((where) =>
      where.or([where('lease_until', 'is', null), where('lease_until', '<', leaseUntil(clock, 0))]),
    )
    .where((where) => where.or([where('next_attempt_at', 'is', null), where('next_attempt_at', '<=', now)]))
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

function leaseUntil(clock: Store['clock'], lasts: number): RawBuilder<number> {
  return sql<number>`cast(${clock} * 1000000 as bigint) + ${toMicros(lasts)}`
}

/** What a holder has to say. Times are those of its process. */
export type WebhookProgress =
  /** It goes on. */
  | { readonly kind: 'moved'; readonly cursor: string; readonly succeeded: boolean }
  /** It has no more to do for now. */
  | { readonly kind: 'released'; readonly cursor: string; readonly succeeded: boolean }
  | {
      readonly kind: 'failed'
      readonly cursor: string
      readonly error: string
      readonly attempts: number
      readonly failingSince: Micros
      /** Null: it is paused. */
      readonly nextAttemptAt: Micros | null
    }

/** Writes how far the holder has come. Returns false, and changes nothing, for a delivery that does not hold it any more. */
export async function moveWebhook(
  tx: Writer,
  clock: Store['clock'],
  { lease, progress }: { readonly lease: WebhookLease; readonly progress: WebhookProgress },
): Promise<boolean> {
  const { id, owner, lasts } = lease
  const { numUpdatedRows } = await tx
    .updateTable('webhooks')
    .set({
      cursor: progress.cursor,
      ...(progress.kind === 'moved' ? { lease_until: leaseUntil(clock, lasts) } : NOT_HELD),
      ...(progress.kind === 'failed' ? failedColumns(progress) : progress.succeeded && succeededColumns()),
    })
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

function succeededColumns() {
  return { ...NOT_FAILING, state: 'active' }
}

function failedColumns(failed: Extract<WebhookProgress, { readonly kind: 'failed' }>) {
  const { error, attempts, failingSince, nextAttemptAt } = failed
  return {
    ...{ error, attempts, failing_since: failingSince, next_attempt_at: nextAttemptAt },
    state: nextAttemptAt === null ? 'paused' : 'failing',
  }
}

/** Deletes a webhook that has done what it is for. Returns false for a delivery that does not hold it any more. */
export async function deleteHeld(tx: Writer, { id, owner }: WebhookLease): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** The ids of the keys that sealed secrets of webhooks. */
export async function webhookKeyIds(db: Reader): Promise<readonly string[]> {
  const rows = await db.selectFrom('webhooks').select('key_id').distinct().orderBy('key_id').execute()
  return rows.map((row) => row.key_id)
}

/** Seals again, with the first key, each secret that another key sealed; returns their number. @throws StoreError `no_key` */
export async function rotateWebhookSecrets(store: Store): Promise<number> {
  const [newest = ''] = store.secrets.keyIds
  const old = await store.read((db) =>
    db.selectFrom('webhooks').select('id').where('key_id', '<>', newest).orderBy('key_id').execute(),
  )
  for (const { id } of old)
    await store.write(async (tx) => {
      const row = await tx.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
      if (row === undefined) return
      const secret = openWebhookSecret(store.secrets, codec.fromRow(row))
      const sealed = store.secrets.seal(secret, secretPlace(id))
      await tx
        .updateTable('webhooks')
        .set({ secret: sealed.value, key_id: sealed.keyId })
        .where('id', '=', id)
        .execute()
    })
  return old.length
}
