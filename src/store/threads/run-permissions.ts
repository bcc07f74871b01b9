/**
 * The rules of a single run.
 * Owns: which rules a message brings, and how a run takes them over.
 * Does not own: which rules a run begins with (`runs.ts`), how rules combine (`policy/permissions.ts`), and the judgement of a
 * call (`policy/judge.ts`).
 * Invariants:
 * - The rules of a run only become stricter.
 * - What a run sends, to itself or to another thread, brings the rules of that run: no message leads out of them.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { mergePermissions } from '../../policy/permissions.js'
import type { Permissions } from '../../policy/permissions.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { runIdOf } from '../../protocol/ids.js'
import type { JsonObject } from '../../protocol/values.js'
import { digestOf } from '../digest.js'
import type { Reader, Writer } from '../store.js'
import type { ChildKey } from './children.js'
import type { RunKey } from './runs.js'

/** The rules that a message brings to the run that takes it. */
export type BroughtRules =
  | { readonly permissions: Permissions }
  /** Those of the run that sends it. */
  | { readonly run: RunKey }
  /** Those of the run that started a subagent, of whose end the message tells. */
  | { readonly child: ChildKey }

/** The column of these rules, in the statement that writes the message. */
export function broughtColumn(rules: BroughtRules | undefined): string | RawBuilder<string | null> | null {
  if (rules === undefined) return null
  if ('permissions' in rules) return JSON.stringify(rules.permissions)
  if ('run' in rules) {
    const { threadId, number } = rules.run
    return sql`(select permissions from runs where thread_id = ${threadId} and number = ${number})`
  }
  const { parentThreadId, reference } = rules.child
  return sql`(
    select runs.permissions from children
    join tool_calls on tool_calls.thread_id = children.parent_thread_id and tool_calls.id = children.call_id
    join runs on runs.thread_id = tool_calls.thread_id and runs.number = tool_calls.run
    where children.parent_thread_id = ${parentThreadId} and children.reference = ${reference}
  )`
}

/** Adds rules that messages have brought to those of their run, and returns the event if there are others by that. Without any it does nothing. */
export async function narrowRun(
  tx: Writer,
  { threadId, number }: RunKey,
  brought: readonly Permissions[],
): Promise<readonly Fact[]> {
  if (brought.length === 0) return []
  const run = await tx
    .selectFrom('runs')
    .select('permissions')
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  if (run === undefined) return []
  const known = readRules(run.permissions)
  const merged = mergePermissions([...known, ...brought])
  const permissions = JSON.stringify(merged)
  if (permissions === run.permissions) return []
  await tx
    .updateTable('runs')
    .set({ permissions })
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .execute()
  const digest = digestOf(merged as JsonObject)
  const change = { subject: 'run', change: 'rules_added', rules: Object.keys(merged).length, digest } as const
  return [fact('policy.changed', change, { runId: runIdOf(number) })]
}

/** The rules in such a column: none or one. */
export function readRules(column: string | null): readonly Permissions[] {
  // Checked before it was written: the store's boundary.
  return column === null ? [] : [JSON.parse(column) as Permissions]
}

/** The rules of those of these messages that wait: a run may have to know them before it takes the messages. */
export async function rulesOfWaiting(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<readonly Permissions[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .select('run_permissions')
    .where('thread_id', '=', threadId)
    .where('id', 'in', [...ids])
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .execute()
  return rows.flatMap(({ run_permissions: rules }) => readRules(rules))
}
