import { readdir } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importDefault, moduleName, otherExport, wordOf } from '../../definitions/default-export.js'
import type { ThreadEndpoint } from '../../definitions/thread-state.js'
import { ConfigError } from '../../protocol/errors.js'

/**
 * Reads a folder in the layout of Standard Agents (`agents/api/`): each file's default export is an endpoint, and its path
 * in the folder the name of its route. @throws ConfigError with every problem at once
 */
export async function loadThreadEndpoints(folder: URL | string): Promise<Record<string, ThreadEndpoint>> {
  const root = folder instanceof URL ? fileURLToPath(folder) : resolve(folder)
  const files = await filesOf(root)
  const endpoints: Record<string, ThreadEndpoint> = {}
  const problems: string[] = []
  for (const file of files) {
    const name = moduleName(file)
    if (name === undefined) continue
    const imported = await importDefault(file, join(root, file))
    if (!imported.ok) problems.push(imported.problem)
    else if (typeof imported.value !== 'function')
      problems.push(otherExport(file, 'endpoint', wordOf(imported.value)))
    // Its parameters are its own business: the server gives it three.
    else endpoints[name] = imported.value as ThreadEndpoint
  }
  if (problems.length === 0 && Object.keys(endpoints).length === 0)
    problems.push(`Expected thread endpoints, a file each, in ${root}, got none`)
  if (problems.length > 0) throw new ConfigError(problems)
  return endpoints
}

async function filesOf(root: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .toSorted()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected a folder of thread endpoints, got one that cannot be read: ${reason}`])
  }
}
