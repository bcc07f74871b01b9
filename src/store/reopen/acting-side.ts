/** Who acts next in a thread whose run was cut off, as its rows tell. */
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import type { JsonObject } from '../../protocol/values.js'
import { digestOf } from '../digest.js'
import { unpackEvents } from '../event-rows.js'
import type { Reader } from '../store.js'

interface ActingAgent {
  readonly agent: string
  /** Sides whose prompt has been active under it. */
  readonly activated: readonly Side[]
}

/** The agent that has the thread: also one that it was just handed off to, before its first step. */
export async function actingAgent(
  db: Reader,
  thread: { readonly id: string; readonly agent: string },
): Promise<ActingAgent> {
  const given = await pendingHandOff(db, thread.id)
  if (given !== null && given !== thread.agent) return { agent: given, activated: [] }
  const since = await lastHandOver(db, thread.id)
  const sides = [...(await speakingSides(db, thread.id, since)), ...(await activatedSides(db, thread, since))]
  return { agent: thread.agent, activated: [...new Set(sides)] }
}

/** A handoff that is committed, and whose agent has not made a step yet. */
async function pendingHandOff(db: Reader, threadId: string): Promise<string | null> {
  const found = await db
    .selectFrom('operations')
    .select(['answer', 'started_at'])
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'tool')
    .where('answer', 'like', '%"kind":"hand_off"%')
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (found?.answer == null) return null
  const later = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'model')
    .where('started_at', '>', found.started_at)
    .limit(1)
    .executeTakeFirst()
  if (later !== undefined) return null
  // Written by executeTool: the store's boundary.
  const { operations = [] } = JSON.parse(found.answer) as { readonly operations?: readonly ThreadOperation[] }
  const handOff = operations.find((operation) => operation.kind === 'hand_off')
  return handOff?.agent ?? null
}

async function lastHandOver(db: Reader, threadId: string): Promise<number> {
  const rows = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'at', 'scope', 'events'])
    .where('thread_id', '=', threadId)
    .where('events', 'like', '%"thread.updated"%')
    .where('events', 'like', '%"agent":%')
    .orderBy('sequence', 'desc')
    .execute()
  const handsOver = ({ type, payload }: { readonly type: string; readonly payload: JsonObject }): boolean =>
    type === 'thread.updated' && payload['agent'] !== undefined
  return rows.find((row) => unpackEvents(row).some(handsOver))?.at ?? 0
}

async function speakingSides(db: Reader, threadId: string, since: number): Promise<readonly Side[]> {
  const rows = await db
    .selectFrom('messages')
    .select('side')
    .distinct()
    .where('thread_id', '=', threadId)
    .where('sent_by', '=', 'model')
    .where('depth', '=', 0)
    .where('created_at', '>=', since)
    .execute()
  return rows.flatMap(({ side }) => (side === 'a' || side === 'b' ? [side] : []))
}

/** Immediate subagents have started, and the side has not spoken yet. */
async function activatedSides(
  db: Reader,
  { id, agent }: { readonly id: string; readonly agent: string },
  since: number,
): Promise<readonly Side[]> {
  const rows = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', id)
    .where('kind', '=', 'activation')
    .where('state', '=', 'finished')
    .where('started_at', '>=', since)
    .limit(LIMITS.stepsPerRun)
    .execute()
  const made = digestOf([agent]).slice(0, 8)
  const has = (side: Side): boolean => rows.some((row) => row.id.endsWith(`_${side}${made}`))
  return (['a', 'b'] as const).filter(has)
}

/**
 * The side whose turn it is, by the last row at the top: a result is for the side that asked, an answer without calls for
 * the other one, what came from outside for the side that it is not in the role of.
 */
export async function actingSide(db: Reader, threadId: string): Promise<Side> {
  const last = await db
    .selectFrom('messages')
    .select(['role', 'side', 'sent_by', 'tool_calls'])
    .where('thread_id', '=', threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where('role', '!=', 'system')
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (last === undefined) return 'a'
  const { role, side, sent_by: sentBy, tool_calls: calls } = last
  if (side !== 'a' && side !== 'b') return role === 'assistant' ? 'b' : 'a'
  const isDone = sentBy === 'model' && calls === null
  if (!isDone) return side
  // A thread that has one side only takes it for that.
  return side === 'a' ? 'b' : 'a'
}
