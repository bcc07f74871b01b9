import { addColumns } from './create-table.js'
import type { SchemaChanger } from './create-table.js'

/** Which attempt holds an operation, so that one which Temporal gave up long ago takes nothing from its successor. */
export async function createLateAttemptsSchema(db: SchemaChanger): Promise<void> {
  await addColumns(db, 'operations', { scheduled_at: 'big?' })
}
