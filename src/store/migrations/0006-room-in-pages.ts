import { sql } from 'kysely'
import type { SchemaChanger } from './create-table.js'

/**
 * Rows that a step changes in place, in percent of a page that new rows fill: without room in its page a changed row moves
 * to another one, and writes to every index of its table (docs/decisions/0051).
 */
const FILLED = { threads: 50, operations: 70, tool_calls: 70, runs: 70, children: 70 } as const

/** PostgreSQL leaves room in the pages of what threads at work change. */
export async function leaveRoomInPages(db: SchemaChanger): Promise<void> {
  if (db.kind === 'sqlite') return
  for (const [table, percent] of Object.entries(FILLED))
    await sql`alter table ${sql.table(table)} set (fillfactor = ${sql.lit(percent)})`.execute(db)
}
