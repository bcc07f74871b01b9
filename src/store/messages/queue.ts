import { sql } from 'kysely'

import type { ToolCallEntry } from '../../protocol/message.js'
import { findToolCall, finishToolCall } from '../calls/tool-calls.js'
import { appendEvents } from '../events.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Delivery } from '../../protocol/messages.js'
import type { Fact } from '../../protocol/facts.js'
import type { Reader, Writer } from '../store.js'
import { endEffect, findEffect } from '../threads/effects.js'
import { restoreOwnState } from '../threads/sessions.js'
import type { MessageSender } from './message-row.js'
import { countUndelivered, findLiveMessage } from './message-writes.js'
import type { Micros } from '../../protocol/time.js'

/** A message that waits for a place in the transcript. */
export interface QueuedMessage {
  readonly id: string
  /** The beginning of its text. */
  readonly text: string
  /** The call of a queued tool; null for any other message. */
  readonly call: ToolCallEntry | null
  /** The child whose report it is. */
  readonly child: string | null
  readonly sentBy: MessageSender
  /** How it enters a thread that works. */
  readonly deliver: Delivery
  readonly createdAt: Micros
}

interface QueuedMessages {
  readonly threadId: string
  /** Characters of each text that are read. */
  readonly length: number
  readonly limit: number
}

/** The first queued messages, also silent ones, in the order in which their rows were written. */
export async function listQueuedMessages(
  db: Reader,
  { threadId, length, limit }: QueuedMessages,
): Promise<readonly QueuedMessage[]> {
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'tool_calls', 'subagent_id', 'created_at', 'sent_by', 'deliver'])
    // Truncated by the database: a thousand whole texts may have a gigabyte.
    .select(sql<string | null>`substr(content, 1, ${sql.lit(length)})`.as('text'))
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map((row) => {
    const [call = null] =
      row.tool_calls === null ? [] : (JSON.parse(row.tool_calls) as readonly ToolCallEntry[])
    return {
      ...{ id: row.id, text: row.text ?? '', call, child: row.subagent_id, createdAt: row.created_at },
      // Written by our code: the boundary of the store.
      sentBy: row.sent_by as MessageSender,
      deliver: (row.deliver ?? 'next_step') as Delivery,
    }
  })
}

/** The ids among these whose messages have a place in the transcript. */
export async function findDelivered(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('id', 'in', ids)
    .where('position', 'is not', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/**
 * `removed`: the item will never be delivered; `before`: it was removed before; `begun`: it is in the transcript, running or
 * finished; `owed`: it is a message of a subagent, which its parent has to receive; `unknown`: no message, call or effect of
 * this thread has the id.
 */
export type Removal = 'removed' | 'before' | 'begun' | 'owed' | 'unknown'

interface RemovedItem {
  readonly threadId: string
  /** The id of a message, a queued tool call or an effect. */
  readonly id: string
  readonly now: Micros
}

/**
 * T3: removes an item from the queue. Either this transaction or the one that begins the item commits first, never both. The
 * row of the item stays, with that status.
 */
export async function removeQueuedItem(tx: Writer, item: RemovedItem): Promise<Removal> {
  const removal = await removeItem(tx, item)
  if (removal.fate !== 'removed') return removal.fate
  const { threadId, now } = item
  const waiting = await countUndelivered(tx, threadId)
  const changed = fact('queue.changed', { waiting, removed: [item.id] })
  await appendEvents(tx, { threadId, events: [...(removal.events ?? []), changed], now })
  await restoreOwnState(tx, threadId)
  return 'removed'
}

/**
 * T3: removes all queued messages and tools but those of subagents, which the thread has to receive. Returns the ids of the items in
 * the order of their rows.
 */
export async function removeAllQueued(
  tx: Writer,
  { threadId, now }: Pick<RemovedItem, 'threadId' | 'now'>,
): Promise<readonly string[]> {
  const rows = await tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .where('subagent_id', 'is', null)
    .returning(['id', 'tool_calls', 'created_at'])
    .execute()
  const removed: string[] = []
  const ends: Fact[] = []
  for (const { id, tool_calls: calls } of rows.toSorted((one, other) => one.created_at - other.created_at)) {
    const [call] = calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
    removed.push(call?.id ?? id)
    ends.push(removalFact({ messageId: id, ...(call !== undefined && { toolCallId: call.id }) }))
    if (call === undefined) continue
    await finishToolCall(tx, { threadId, callId: call.id, status: 'cancelled', errorCode: 'removed', now })
  }
  if (removed.length === 0) return []
  const changed = fact('queue.changed', { waiting: await countUndelivered(tx, threadId), removed })
  await appendEvents(tx, { threadId, events: [...ends, changed], now })
  await restoreOwnState(tx, threadId)
  return removed
}

/** Whether an item can be moved: as `Removal`, which `waiting` can be. */
export async function queuedFate(
  db: Reader,
  threadId: string,
  id: string,
): Promise<'waiting' | Exclude<Removal, 'removed'>> {
  const call = await findToolCall(db, threadId, id)
  const message = await findRow(db, threadId, call?.message_id ?? id)
  if (message === undefined) return 'unknown'
  const fate = fateOf(message)
  return fate === 'removed' ? 'waiting' : fate
}

interface Removed {
  readonly fate: Removal
  readonly events?: readonly Fact[]
}

async function removeItem(tx: Writer, { threadId, id, now }: RemovedItem): Promise<Removed> {
  const message = await findRow(tx, threadId, id)
  if (message !== undefined) {
    const fate = fateOf(message)
    if (fate !== 'removed') return { fate }
    await markMessageRemoved(tx, threadId, id)
    return { fate, events: [removalFact({ messageId: id })] }
  }
  const call = await findToolCall(tx, threadId, id)
  if (call !== null) {
    const holder = await findRow(tx, threadId, call.message_id)
    const fate = holder === undefined ? 'begun' : fateOf(holder)
    if (fate !== 'removed') return { fate }
    await finishToolCall(tx, { threadId, callId: id, status: 'cancelled', errorCode: 'removed', now })
    await markMessageRemoved(tx, threadId, call.message_id)
    return { fate, events: [removalFact({ messageId: call.message_id, toolCallId: id })] }
  }
  return removeEffect(tx, { threadId, id, now })
}

async function removeEffect(tx: Writer, { threadId, id, now }: RemovedItem): Promise<Removed> {
  const effect = await findEffect(tx, threadId, id)
  if (effect === null) return { fate: 'unknown' }
  if (effect.status === 'removed') return { fate: 'before' }
  if (effect.status !== 'scheduled' || (await isStarted(tx, threadId, id))) return { fate: 'begun' }
  await endEffect(tx, { threadId, id, status: 'removed', now })
  return { fate: 'removed', events: [fact('effect.removed', { effectId: id, name: effect.name })] }
}

interface WaitingRow {
  readonly position: number | null
  readonly status: string
  readonly subagent_id: string | null
}

function findRow(db: Reader, threadId: string, id: string): Promise<WaitingRow | undefined> {
  return db
    .selectFrom('messages')
    .select(['position', 'status', 'subagent_id'])
    .where('id', '=', id)
    .where('thread_id', '=', threadId)
    .executeTakeFirst()
}

function fateOf({ position, status, subagent_id: child }: WaitingRow): Removal {
  if (status === 'removed') return 'before'
  if (position !== null || status !== 'pending') return 'begun'
  return child === null ? 'removed' : 'owed'
}

/** T4: an effect that has begun commits its outcome. */
async function isStarted(db: Reader, threadId: string, effectId: string): Promise<boolean> {
  const operation = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('id', '=', effectId)
    .executeTakeFirst()
  return operation !== undefined
}

/** The end of a message that was taken back; that of a queued tool has its call. */
export function removalFact(scope: EventScope): Fact {
  return fact('message.ended', { end: 'removed' }, scope)
}

/** Marks a queued message as removed: it never gets a place in the transcript. */
async function markMessageRemoved(tx: Writer, threadId: string, id: string): Promise<void> {
  await tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
}

/** `deleted`: it was in the transcript. `removed`: it was queued; its row stays, with that status. */
export async function deleteMessage(
  tx: Writer,
  threadId: string,
  id: string,
): Promise<'deleted' | 'removed' | 'missing'> {
  const found = await findLiveMessage(tx, threadId, id)
  if (found === null) return 'missing'
  if (found.message.position === null) {
    await markMessageRemoved(tx, threadId, id)
    return 'removed'
  }
  await tx.deleteFrom('messages').where('thread_id', '=', threadId).where('id', '=', id).execute()
  return 'deleted'
}
