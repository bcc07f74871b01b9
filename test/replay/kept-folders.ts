import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** Where histories are kept: one folder for each released version, and one for what comes next. */
export const HISTORIES = fileURLToPath(new URL('../../histories', import.meta.url))

/** What is not released yet: the only folder that `npm run record` writes. */
export const UNRELEASED = 'unreleased'

/** All of them, oldest version first, what is not released last. */
export async function keptFolders(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true })
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  return names.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}
