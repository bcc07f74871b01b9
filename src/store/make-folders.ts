import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where a folder exists but takes no entries
 * (it asks for the parent again and again), as in /proc or on some network drives.
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
