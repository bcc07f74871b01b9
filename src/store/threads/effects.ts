import type { Selectable } from 'kysely'

import type { ThreadOperation } from '../../protocol/operations.js'
import type { JsonObject } from '../../protocol/values.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import type { Micros } from '../../protocol/time.js'

type Columns = { status: 'scheduled' | 'done' | 'failed' | 'removed'; args: JsonObject }

/** Delayed work of a thread; `error` is the id of the error of a failed effect. */
export type EffectRecord = Decoded<Selectable<Schema['effects']>, Columns>

const codec = rowCodec<Selectable<Schema['effects']>, Columns>({ json: ['args'] })

/** Returns false, and changes nothing, if the effect exists. */
export async function insertEffect(
  tx: Writer,
  effect: Pick<EffectRecord, 'thread_id' | 'id' | 'name' | 'args' | 'due_at' | 'created_at'>,
): Promise<boolean> {
  const result = await tx
    .insertInto('effects')
    .values(codec.toRow({ ...effect, status: 'scheduled' as const }))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export async function findEffect(db: Reader, threadId: string, id: string): Promise<EffectRecord | null> {
  const row = await db
    .selectFrom('effects')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** Scheduled effects, the next one first. */
export async function listScheduledEffects(db: Reader, threadId: string): Promise<readonly EffectRecord[]> {
  const rows = await db
    .selectFrom('effects')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('status', '=', 'scheduled')
    .orderBy('due_at')
    .orderBy('id')
    .execute()
  return rows.map(codec.fromRow)
}

interface EndedEffect {
  readonly threadId: string
  readonly id: string
  readonly status: Exclude<EffectRecord['status'], 'scheduled'>
  readonly error?: string | null
  readonly now: Micros
}

/** Ends a scheduled effect and returns its name; null if it is not scheduled any more: an effect ends once. */
export async function endEffect(
  tx: Writer,
  { threadId, id, status, error = null, now }: EndedEffect,
): Promise<string | null> {
  const ended = await tx
    .updateTable('effects')
    .set({ status, error, finished_at: now })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('status', '=', 'scheduled')
    .returning('name')
    .executeTakeFirst()
  return ended?.name ?? null
}

/**
 * The threads of the tree that scheduled an effect of a thread, found in the answers of their operations. An endpoint has no
 * operation and is not found. Reads all operations of the tree: only for `everthread doctor`.
 */
export async function findEffectSenders(
  db: Reader,
  threadId: string,
  effectId: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('threads as target')
    .innerJoin('threads as sender', 'sender.root_thread_id', 'target.root_thread_id')
    .innerJoin('operations', 'operations.thread_id', 'sender.id')
    .select(['sender.id', 'operations.answer', 'operations.detail'])
    .where('target.id', '=', threadId)
    // The details of remote calls are arguments and files: they may be large, and name no operations.
    .where('operations.kind', '<>', 'remote')
    .execute()
  const senders = rows.filter(({ id: sender, answer, detail }) =>
    [...operationsIn(answer), ...operationsIn(detail)].some((one) => {
      const [target, done] = one.kind === 'tell' ? [one.to, one.operation] : [sender, one]
      return target === threadId && done.kind === 'schedule_effect' && done.id === effectId
    }),
  )
  return [...new Set(senders.map(({ id }) => id))]
}

/** What an activity did to threads, from the answer or the detail of its operation. */
function operationsIn(json: string | null): readonly ThreadOperation[] {
  // Written by the activities: the store's boundary.
  const written = JSON.parse(json ?? 'null') as { readonly operations?: readonly ThreadOperation[] } | null
  return written?.operations ?? []
}
