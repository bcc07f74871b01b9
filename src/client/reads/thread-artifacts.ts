/** What a thread has made: its files with their versions, the newest first. */
import type { FileRecord } from '../../protocol/message.js'
import { fileStats, listChangedFiles } from '../../store/files/files.js'
import type { StoredFile } from '../../store/files/files.js'
import type { Unavailable } from '../../views/capabilities.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { checkLimit } from '../lists/list-threads.js'

/** A file as it is now. */
export interface ArtifactSummary extends Pick<FileRecord, 'path' | 'mimeType' | 'size' | 'updatedAt'> {
  /** Equal for equal bytes; null for a file without any. */
  readonly version: string | null
}

/** The files of a thread, and what nobody keeps of them. */
export interface ThreadArtifacts {
  readonly threadId: string
  /** Those that were changed last, the newest first. */
  readonly newest: readonly ArtifactSummary[]
  /** The number of all files, and their bytes. */
  readonly count: number
  readonly bytes: number
  readonly previews: Unavailable
  readonly validation: Unavailable
  readonly diffs: Unavailable
}

export interface ArtifactsOptions {
  /** At most so many files. @default 50 */
  readonly limit?: number
}

/** Reads what a thread has made. @throws ConfigError for a limit that cannot be; ThreadNotFoundError */
export async function readArtifacts(
  context: ClientContext,
  threadId: string,
  { limit }: ArtifactsOptions,
): Promise<ThreadArtifacts> {
  const size = checkLimit(limit)
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const { fileCount: count, totalSize: bytes } = await fileStats(db, threadId)
    return {
      ...{ threadId, newest: (await listChangedFiles(db, threadId, size)).map(toArtifact), count, bytes },
      previews: { unavailable: 'a file is read whole or in ranges; no preview of it is kept' },
      validation: { unavailable: 'the runtime validates no files' },
      diffs: { unavailable: 'the bytes of earlier versions are not kept' },
    }
  })
}

function toArtifact({ path, mimeType, size, updatedAt, blob: version }: StoredFile): ArtifactSummary {
  return { path, mimeType, size, updatedAt, version }
}
