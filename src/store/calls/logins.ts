/**
 * The logins of people at sources of tools.
 *
 * Owns: the rows, their versions, and that they are sealed. Does not own: what a login holds, which its source decides (`src/mcp`).
 * Invariants: a row is bound to its account, user and source, so one that was moved elsewhere cannot be opened; a write names the version
 * that it has read, so that of two at once one is refused, and a version is a time, so that none of a deleted login comes again; without
 * a key nothing is stored.
 */
import type { ExpressionBuilder, Selectable } from 'kysely'
import type { Micros } from '../../protocol/time.js'
import { nowMicros } from '../../protocol/time.js'
import type { SecretBox } from '../secret-box.js'
import type { Schema } from '../schema.js'
import type { Reader, Store, Writer } from '../store.js'
import type { LoginsTable } from '../threads/tables.js'

/** Whose login it is, and where. */
export interface LoginPlace {
  /** Null: threads without an account. */
  readonly account: string | null
  /** Null: threads without a user. */
  readonly user: string | null
  /** The name of the source of tools. */
  readonly source: string
}

interface LoginRecord {
  readonly text: string
  readonly version: number
}

type Row = Selectable<LoginsTable>

/** Null: there is none. @throws StoreError `no_key`, `corrupt` */
export async function findLogin(
  db: Reader,
  secrets: SecretBox,
  place: LoginPlace,
): Promise<LoginRecord | null> {
  const row = await db
    .selectFrom('logins')
    .selectAll()
    .where((where) => where.and(keyOf(place)))
    .executeTakeFirst()
  return row === undefined ? null : { text: openLogin(secrets, row), version: row.version }
}

interface NewLogin {
  readonly place: LoginPlace
  readonly text: string
  /** The version that was read; null: there was none. */
  readonly version: number | null
}

/** Writes a login, unless another one was written since it was read: then it returns false. @throws StoreError `no_key` */
export async function putLogin(
  tx: Writer,
  secrets: SecretBox,
  { place, text, version }: NewLogin,
): Promise<boolean> {
  const key = keyOf(place)
  const now = nowMicros()
  const { value, keyId } = secrets.seal(text, secretPlace(key))
  if (version === null) {
    const made = { ...key, version: now, value, key_id: keyId, created_at: now, updated_at: now }
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('logins')
      .values(made)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await tx
    .updateTable('logins')
    .set({ version: Math.max(now, version + 1), value, key_id: keyId, updated_at: now })
    .where((where) => where.and(key))
    .where('version', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Returns whether there was one. */
export async function deleteLogin(tx: Writer, place: LoginPlace): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('logins')
    .where((where) => where.and(keyOf(place)))
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** A login, without what it holds. */
interface ListedLogin extends Pick<LoginPlace, 'source'> {
  readonly createdAt: Micros
  readonly updatedAt: Micros
}

/** Those of a person, in the order of the names of their sources. */
export async function listLogins(
  db: Reader,
  { account, user }: Pick<LoginPlace, 'account' | 'user'>,
): Promise<readonly ListedLogin[]> {
  const rows = await db
    .selectFrom('logins')
    .select(['source', 'created_at', 'updated_at'])
    .where('account', '=', account ?? '')
    .where('user_id', '=', user ?? '')
    .orderBy('source')
    .execute()
  return rows.map(({ source, created_at: createdAt, updated_at: updatedAt }) => ({
    source,
    createdAt,
    updatedAt,
  }))
}

type Key = Pick<Row, 'account' | 'user_id' | 'source'>

function keyOf({ account, user, source }: LoginPlace): Key {
  return { account: account ?? '', user_id: user ?? '', source }
}

function secretPlace({ account, user_id, source }: Key): Parameters<SecretBox['seal']>[1] {
  return { threadId: '', name: `login ${JSON.stringify([account, user_id, source])}` }
}

function openLogin(
  secrets: SecretBox,
  { value, key_id: keyId, ...key }: Key & Pick<Row, 'value' | 'key_id'>,
) {
  return secrets.open({ value, keyId }, secretPlace(key))
}

/** The id of a key that sealed a login and is none of these; null: there is none. */
export async function unknownLoginKey(db: Reader, keyIds: readonly string[]): Promise<string | null> {
  const query = db.selectFrom('logins').select('key_id')
  const row = await (keyIds.length === 0 ? query : query.where('key_id', 'not in', keyIds))
    .orderBy('key_id')
    .limit(1)
    .executeTakeFirst()
  return row?.key_id ?? null
}

/** Seals again, with the first key, each login that another key sealed; returns their number. @throws StoreError `no_key` */
export async function rotateLogins(store: Store): Promise<number> {
  const [newest = ''] = store.secrets.keyIds
  const old = await store.read((db) =>
    db
      .selectFrom('logins')
      .select(['account', 'user_id', 'source'])
      .where('key_id', '<>', newest)
      .orderBy('key_id')
      .execute(),
  )
  for (const key of old)
    await store.write(async (tx) => {
      const isOfKey = (where: ExpressionBuilder<Schema, 'logins'>) => where.and(key)
      const row = await tx.selectFrom('logins').selectAll().where(isOfKey).executeTakeFirst()
      if (row === undefined) return
      const { value, keyId } = store.secrets.seal(openLogin(store.secrets, row), secretPlace(row))
      // The version stays: the login is the same one.
      await tx.updateTable('logins').set({ value, key_id: keyId }).where(isOfKey).execute()
    })
  return old.length
}
