import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { isDigest, isDraftName } from './blob-bytes.js'
import type { ListedBlob } from './blob-store.js'

/** The blobs of a folder `ab/cd/abcd…`: one small folder in memory at a time. */
export async function* listBlobFolder(folder: string): AsyncIterable<ListedBlob> {
  for (const first of await readdir(folder)) {
    if (!/^[0-9a-f]{2}$/.test(first)) continue
    for (const second of await namesIn(join(folder, first))) {
      for (const digest of await namesIn(join(folder, first, second))) {
        if (!isDigest(digest)) continue
        const writtenAt = await writtenTime(join(folder, first, second, digest))
        if (writtenAt !== null) yield { digest, writtenAt }
      }
    }
  }
}

/** Removes the drafts of ours that nobody has touched since the time; answers how many. */
export async function deleteOldDrafts(folder: string, begunBefore: number): Promise<number> {
  let deleted = 0
  for (const name of await namesIn(folder)) {
    if (!isDraftName(name)) continue
    const touched = await writtenTime(join(folder, name))
    if (touched === null || touched >= begunBefore) continue
    await rm(join(folder, name), { force: true })
    deleted += 1
  }
  return deleted
}

/** When the file was last written, in milliseconds; null if there is none. */
export async function writtenTime(path: string): Promise<number | null> {
  return (await stat(path).catch(nullIfMissing))?.mtimeMs ?? null
}

/** For `catch`: a file that is not there is an answer, not trouble. */
export function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  throw error
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    // A file that lies beside our folders is none of ours.
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return []
    return nullIfMissing(error) ?? []
  })
}
