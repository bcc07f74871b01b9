import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { moduleName } from '../definitions/default-export.js'

/** A file that should export one definition. */
export interface DefinitionFile {
  /** As the author sees it: relative to the folder of all kinds, with slashes. */
  readonly path: string
  /** Without its ending. */
  readonly name: string
  readonly location: string
}

/** The names of what is in a folder, folders ending in a slash; undefined where there is none. */
export async function folderEntries(folder: string): Promise<readonly string[] | undefined> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** The definitions in the folder of one kind, by name of file; declarations, tests and hidden files are none. */
export async function definitionFiles(root: string, kind: string): Promise<readonly DefinitionFile[]> {
  const entries = (await folderEntries(join(root, kind))) ?? []
  return entries.flatMap((file) => {
    const name = moduleName(file)
    return name === undefined ? [] : [{ path: `${kind}/${file}`, name, location: join(root, kind, file) }]
  })
}
