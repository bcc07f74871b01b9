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
    // Its parameters are not checked: the server passes three.
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

/** Equal for two routes that no request tells apart. */
export function shapeOf({ method, parts }: EndpointRoute): string {
  return [method, ...parts.map((part) => (part.kind === 'text' ? `=${part.text}` : part.kind))].join('/')
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

type Method = (typeof METHODS)[number]

/** A part of a path: written out, one open part, or all the rest. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string }
  | { readonly kind: 'rest' }

/** The method and the path of a thread endpoint. */
interface EndpointRoute {
  readonly method: Method
  readonly parts: readonly Part[]
}

/**
 * Reads a name of Standard Agents: the path of a file below `api/` without its extension. `orders/[id].post` is POST on
 * `orders/…`; GET is the default; `index` stands for its folder; `[*]` is the rest of a path, also an empty one.
 * @throws ConfigError
 */
export function endpointRoute(name: string): EndpointRoute {
  const [, path = '', suffix] = /^(.*?)(?:\.(get|post|put|patch|delete))?$/i.exec(name) ?? []
  const segments = path.split('/')
  if (segments.at(-1) === 'index') segments.pop()
  const parts = segments.map((segment) => partOf(segment, name))
  const rest = parts.findIndex(({ kind }) => kind === 'rest')
  const names = parts.flatMap((part) => (part.kind === 'open' ? [part.name] : []))
  if (rest !== -1 && rest < parts.length - 1) throw wrong(name, 'more behind [*]')
  if (new Set(names).size < names.length) throw wrong(name, 'the same name twice')
  // The expression admits no other method.
  return { method: (suffix?.toLowerCase() ?? 'get') as Method, parts }
}

function partOf(segment: string, name: string): Part {
  if (segment === '[*]') return { kind: 'rest' }
  const [, open] = /^\[([\w-]+)\]$/.exec(segment) ?? []
  if (open !== undefined) return { kind: 'open', name: open }
  if (/^[\w.~-]+$/.test(segment) && !/^\.{1,2}$/.test(segment)) return { kind: 'text', text: segment }
  throw wrong(name, segment === '' ? 'an empty part' : `"${segment}"`)
}

function wrong(name: string, came: string): ConfigError {
  return new ConfigError([
    `Expected thread endpoints to be named as in "orders/[id].post" or "files/[*]", got ${came} in "${name}".`,
  ])
}

/** The open parts of a path that the route matches; null for any other path. */
export function matchRoute(
  { parts }: EndpointRoute,
  path: readonly string[],
): Readonly<Record<string, string>> | null {
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'rest') return { ...params, '*': path.slice(index).join('/') }
    const segment = path[index]
    if (segment === undefined || (part.kind === 'text' && part.text !== segment)) return null
    if (part.kind === 'open') params[part.name] = segment
  }
  return path.length === parts.length ? params : null
}

const WEIGHT = { text: 0, open: 1, rest: 2 } as const

/** From left to right: a literal part comes before an open one, and both before the rest. */
export function comparePrecedence(one: EndpointRoute, other: EndpointRoute): number {
  for (let index = 0; index < Math.max(one.parts.length, other.parts.length); index += 1) {
    const difference = weightAt(one, index) - weightAt(other, index)
    if (difference !== 0) return difference
  }
  return 0
}

/** A route that ends here matches no longer path, so it comes before one whose rest may be empty. */
function weightAt({ parts }: EndpointRoute, index: number): number {
  const part = parts[index]
  return part === undefined ? 0 : WEIGHT[part.kind]
}
