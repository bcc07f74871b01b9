import { fileFromRow } from './file-row.js'
import type { StoredFile } from './file-row.js'
import type { Reader, Writer } from './store.js'

/** Null if there is neither file nor folder. The top folder '/' has no record. */
export async function statFile(db: Reader, threadId: string, path: string): Promise<StoredFile | null> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('path', '=', path)
    .executeTakeFirst()
  return row === undefined ? null : fileFromRow(row)
}

/** Of a file or an empty folder: nothing else is looked at. */
export async function deleteEntry(tx: Writer, threadId: string, path: string): Promise<void> {
  await tx.deleteFrom('files').where('thread_id', '=', threadId).where('path', '=', path).execute()
}
