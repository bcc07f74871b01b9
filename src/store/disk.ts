import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from './store-error.js'

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission: give it read and write access',
  EPERM: 'this user has no permission: give it read and write access',
  EROFS: 'the disk is read-only: name a writable place',
  ENOTDIR: 'a part of its path is a file: name another place',
  EEXIST: 'a part of its path is a file: name another place',
  EISDIR: 'it is a folder: name a file',
  ENOENT: 'it cannot be made there: name another place',
  ENOSPC: 'the disk is full: free some space',
  EDQUOT: 'the disk quota is used up: free some space',
  EMFILE: 'this process has too many open files: raise its limit',
  ENAMETOOLONG: 'its path is too long: name another place',
}

/** A StoreError for a failure with files and folders; any other error, which is a bug, unchanged. */
export function diskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  if (!('syscall' in error)) return error
  const advice = ADVICE[error.code] ?? 'check the disk'
  return new StoreError('unavailable', `Expected to use ${what}, got ${error.code}: ${advice}`, error)
}

/**
 * Makes a folder and its parents. Node's own `recursive` loops forever where a folder exists but accepts no entries, as in
 * /proc or on some network drives.
 */
export async function makeFolders(path: string): Promise<void> {
  try {
    await makeFolder(path)
  } catch (error) {
    const parent = dirname(path)
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!missing || parent === path) throw error
    await makeFolders(parent)
    await makeFolder(path)
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
  }
}
