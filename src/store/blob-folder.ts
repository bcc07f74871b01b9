import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, open, readdir, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
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
        const found = await findBlobFile(join(folder, first, second, digest))
        if (found !== null) yield { digest, writtenAt: found.mtimeMs }
      }
    }
  }
}

/** Removes the drafts of ours that nobody has touched since the time; answers how many. */
export async function deleteOldDrafts(folder: string, begunBefore: number): Promise<number> {
  let deleted = 0
  for (const name of await namesIn(folder)) {
    if (!isDraftName(name)) continue
    const found = await findBlobFile(join(folder, name))
    if (found === null || found.mtimeMs >= begunBefore) continue
    await rm(join(folder, name), { force: true })
    deleted += 1
  }
  return deleted
}

/**
 * What is known of a file of ours; null if there is none. A symbolic link is none, wherever it leads: whoever can put one
 * into the folder must not have us read, renew or delete what we would not find otherwise. A write puts a file in its place.
 */
export async function findBlobFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(nullIfMissing)
  return found?.isFile() === true ? found : null
}

/** Null if there is none, or if a link has taken its place in this very moment. */
export async function openBlobFile(path: string): Promise<FileHandle | null> {
  if ((await findBlobFile(path)) === null) return null
  return open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) =>
    error instanceof Error && 'code' in error && error.code === 'ELOOP' ? null : nullIfMissing(error),
  )
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
