import { readdir } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import type { ThreadEndpoint } from '../../definitions/thread-endpoint.js'
import { ConfigError } from '../../protocol/config-error.js'

/** A module that Node can import; declarations, tests and hidden files are none. */
const ENDPOINT = /^(?!.*(?:^|\/)\.)(?!.*\.d\.ts$)(?!.*\.(?:test|spec)\.\w+$)(.+)\.(?:js|mjs|ts)$/

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
    const [, name] = ENDPOINT.exec(file) ?? []
    if (name === undefined) continue
    const exported = await importDefault(join(root, file))
    if ('problem' in exported) problems.push(`${file} cannot be imported: ${exported.problem}`)
    else if (typeof exported.value !== 'function')
      problems.push(`${file}: expected an endpoint as default export, got ${typeof exported.value}`)
    // Its parameters are its own business: the server gives it three.
    else endpoints[name] = exported.value as ThreadEndpoint
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

type Exported = { readonly value: unknown } | { readonly problem: string }

async function importDefault(file: string): Promise<Exported> {
  try {
    const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>
    return { value: module['default'] }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
