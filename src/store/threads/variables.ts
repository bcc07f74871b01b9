import type { Selectable } from 'kysely'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { rotateLogins, unknownLoginKey } from '../calls/logins.js'
import { remoteKeyIds, rotateRemoteSecrets } from '../calls/remote-calls.js'
import type { Schema } from '../schema.js'
import type { SecretBox } from '../secret-box.js'
import type { Reader, Store, Writer } from '../store.js'
import { rotateWebhookSecrets, webhookKeyIds } from '../webhooks/webhooks.js'
import { findThread } from './threads.js'
import type { Micros } from '../../protocol/time.js'

/** A variable's row; the value of a secret is sealed. */
export type VariableRecord = Readonly<Omit<Selectable<Schema['variables']>, 'type'>> & {
  readonly type: VariableType
}

type VariableType = 'text' | 'secret'

interface NewVariable {
  readonly threadId: string
  readonly name: string
  readonly value: string
  /** Left out: the present type, else secret. */
  readonly type?: VariableType | undefined
  /** Given at the start of the thread: its subagents have it too, also those that scope the name. */
  readonly forGraph?: true
  readonly now: Micros
}

/** Sets a variable of a thread; secrets are sealed. @throws StoreError `no_key` */
export async function putVariable(tx: Writer, secrets: SecretBox, variable: NewVariable): Promise<void> {
  const { threadId, name, value, now } = variable
  const type = variable.type ?? (await findVariables(tx, threadId, [name]))[0]?.type ?? 'secret'
  const sealed = type === 'text' ? { value, keyId: null } : secrets.seal(value, { threadId, name })
  // A later value of such a variable reaches the same threads.
  const given = variable.forGraph === true ? { for_graph: 1 } : {}
  const row = { type, value: sealed.value, key_id: sealed.keyId, updated_at: now, ...given }
  await tx
    .insertInto('variables')
    .values({ thread_id: threadId, name, for_graph: 0, ...row })
    .onConflict((conflict) => conflict.columns(['thread_id', 'name']).doUpdateSet(row))
    .execute()
}

/** The variables among these names that the thread itself has. */
export async function findVariables(
  db: Reader,
  threadId: string,
  names: readonly string[],
): Promise<readonly VariableRecord[]> {
  if (names.length === 0) return []
  const rows = await db
    .selectFrom('variables')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('name', 'in', names)
    .orderBy('name')
    .execute()
  return rows.map((row) => ({ ...row, type: row.type === 'text' ? 'text' : 'secret' }))
}

interface Lookup {
  readonly threadId: string
  /** The active agent of the thread. */
  readonly agent: string
  readonly names: readonly string[]
  /** The names that a thread of this agent does not inherit. */
  readonly scopedNames: (agent: string) => ReadonlySet<string> | Promise<ReadonlySet<string>>
}

/** Finds variables by name: the thread's own rows, then those of its parents. */
export async function findInherited(
  db: Reader,
  lookup: Lookup,
): Promise<ReadonlyMap<string, VariableRecord>> {
  const found = new Map<string, VariableRecord>()
  const scoped = new Set<string>()
  let { threadId, agent, names: open } = lookup
  for (let depth = 0; depth <= LIMITS.childDepth; depth += 1) {
    for (const record of await findVariables(db, threadId, open))
      if (record.for_graph === 1 || !scoped.has(record.name)) found.set(record.name, record)
    for (const name of await lookup.scopedNames(agent)) scoped.add(name)
    open = open.filter((name) => !found.has(name))
    const above = open.length === 0 ? null : await parentOf(db, threadId)
    if (above === null) break
    threadId = above.id
    agent = above.agent
  }
  return found
}

async function parentOf(db: Reader, threadId: string): Promise<{ id: string; agent: string } | null> {
  const parent = (await findThread(db, threadId))?.parent_thread_id ?? null
  return parent === null ? null : findThread(db, parent)
}

/** @throws StoreError `no_key`, `corrupt` */
export function openVariable(secrets: SecretBox, record: VariableRecord): string {
  const { thread_id: threadId, name, value, key_id: keyId } = record
  return keyId === null ? value : secrets.open({ value, keyId }, { threadId, name })
}

/** @throws ConfigError if the store holds a secret that none of the keys opens */
export async function assertSecretsOpen(store: Pick<Store, 'read'>, { keyIds }: SecretBox): Promise<void> {
  const sealed = await store.read((db) => {
    const query = db.selectFrom('variables').select('key_id').where('key_id', 'is not', null)
    return (keyIds.length === 0 ? query : query.where('key_id', 'not in', keyIds)).limit(1).executeTakeFirst()
  })
  const others = [...(await store.read(remoteKeyIds)), ...(await store.read(webhookKeyIds))]
  const missing =
    sealed?.key_id ??
    others.find((keyId) => !keyIds.includes(keyId)) ??
    (await store.read((db) => unknownLoginKey(db, keyIds))) ??
    undefined
  if (missing === undefined) return
  const came = keyIds.length === 0 ? 'no key' : `the keys ${keyIds.join(', ')}`
  throw new ConfigError([
    `Expected EVERTHREAD_SECRET_KEY or store.secretKey to hold the key ${missing}, for this store has secrets ` +
      `that it sealed, got ${came}: add it, after the newest and separated by a comma`,
  ])
}

/** Secrets that one transaction seals again, so that other writes can run in between. */
const BATCH = 200

/**
 * Seals with the first key every secret that another key sealed, so that the other keys can be dropped; returns how many.
 * @throws StoreError `no_key`
 */
export async function rotateSecrets(store: Store): Promise<number> {
  return (
    (await rotateVariables(store)) +
    (await rotateRemoteSecrets(store)) +
    (await rotateWebhookSecrets(store)) +
    (await rotateLogins(store))
  )
}

async function rotateVariables(store: Store): Promise<number> {
  for (let rotated = 0; ;) {
    const count = await store.write((tx) => rotateBatch(tx, store.secrets))
    rotated += count
    if (count < BATCH) return rotated
  }
}

async function rotateBatch(tx: Writer, secrets: SecretBox): Promise<number> {
  const [newest = ''] = secrets.keyIds
  const rows = await tx
    .selectFrom('variables')
    .selectAll()
    .where('key_id', 'is not', null)
    .where('key_id', '<>', newest)
    .limit(BATCH)
    .execute()
  for (const { thread_id: threadId, name, value, key_id: keyId } of rows) {
    const place = { threadId, name }
    const sealed = secrets.seal(secrets.open({ value, keyId: keyId ?? '' }, place), place)
    await tx
      .updateTable('variables')
      .set({ value: sealed.value, key_id: sealed.keyId })
      .where('thread_id', '=', threadId)
      .where('name', '=', name)
      .execute()
  }
  return rows.length
}

/** The value; undefined if there is none. */
export async function getValue(db: Reader, threadId: string, key: string): Promise<JsonValue | undefined> {
  const row = await db
    .selectFrom('thread_values')
    .select('value')
    .where('thread_id', '=', threadId)
    .where('key', '=', key)
    .executeTakeFirst()
  return row === undefined ? undefined : (JSON.parse(row.value) as JsonValue)
}

interface NewValue {
  readonly threadId: string
  readonly key: string
  /** `undefined` deletes. */
  readonly value: JsonValue | undefined
}

export async function setValue(tx: Writer, { threadId, key, value }: NewValue): Promise<void> {
  if (value === undefined) {
    await tx.deleteFrom('thread_values').where('thread_id', '=', threadId).where('key', '=', key).execute()
    return
  }
  const text = JSON.stringify(value)
  await tx
    .insertInto('thread_values')
    .values({ thread_id: threadId, key, value: text })
    .onConflict((conflict) => conflict.columns(['thread_id', 'key']).doUpdateSet({ value: text }))
    .execute()
}

/** All values of a thread by key. */
export async function listValues(db: Reader, threadId: string): Promise<JsonObject> {
  const rows = await db
    .selectFrom('thread_values')
    .select(['key', 'value'])
    .where('thread_id', '=', threadId)
    .orderBy('key')
    .execute()
  return Object.fromEntries(rows.map((row) => [row.key, JSON.parse(row.value) as JsonValue]))
}
