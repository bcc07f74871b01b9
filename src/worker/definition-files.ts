import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'

/** A file that should export one definition. */
export interface DefinitionFile {
  /** As the author sees it: relative to the folder of all kinds, with slashes. */
  readonly path: string
  /** Without its ending. */
  readonly name: string
  readonly location: string
}

/** What Node can import; `.ts` where its own type stripping is on. */
const ENDINGS: ReadonlySet<string> = new Set(['.js', '.mjs', '.ts'])

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
  return entries.filter(isDefinition).map((file) => ({
    path: `${kind}/${file}`,
    name: parse(file).name,
    location: join(root, kind, file),
  }))
}

function isDefinition(file: string): boolean {
  const isPassedOver = file.startsWith('.') || file.endsWith('.d.ts') || /\.(test|spec)\.\w+$/.test(file)
  return !isPassedOver && ENDINGS.has(parse(file).ext)
}
