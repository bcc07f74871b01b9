/**
 * Loads the agents of a project in a worker process of `dev`: user code in TypeScript, as Node itself strips its types.
 *
 * It owns: which export holds the agents, and the sentence about a file that cannot be loaded, with its place.
 */
import { registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Registry } from '../../definitions/known-definitions.js'
import { registry } from '../../definitions/registry.js'
import { isAgent } from '../../definitions/short-form/agent.js'
import { ConfigError } from '../../protocol/errors.js'
import { isRegistry } from '../../worker/given-registry.js'

/** The module that was read last: a syntax error of JavaScript does not say where it is. */
let lastModule: string | undefined

/** Imports may name `.js` for a file that is `.ts`, as TypeScript has it. */
function resolveTypeScript(): void {
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const isOurs = specifier.startsWith('.') && specifier.endsWith('.js')
        if (!isOurs || context.parentURL?.endsWith('.ts') !== true) throw error
        return next(specifier.replace(/\.js$/, '.ts'), context)
      }
    },
    load(url, context, next) {
      lastModule = url
      return next(url, context)
    },
  })
}

/**
 * Imports the file, and finds its agents: one registry, or agents in the short form, which make one together.
 * @throws ConfigError, or whatever the file throws
 */
export async function loadAgents(file: string): Promise<Registry> {
  resolveTypeScript()
  const module = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
  if (isRegistry(module['default'])) return module['default']
  const exported = [...new Set(Object.values(module))]
  const [only, ...others] = exported.filter(isRegistry)
  if (only !== undefined && others.length === 0) return only
  const agents = exported.filter(isAgent)
  if (only === undefined && agents.length > 0) return registry({ agents })
  const names = Object.keys(module).filter((name) => only === undefined || isRegistry(module[name]))
  const got = names.length === 0 ? 'a file without exports' : names.join(', ')
  const remedy = only === undefined ? '' : ': export one of them as default'
  throw new ConfigError([
    `${file}: expected agents among its exports, results of agent(), or one result of registry() or loadRegistry(), got ${got}${remedy}.`,
  ])
}

/** One sentence about an error while the agents were loaded: the place in the project if it is known, then what is wrong. */
export function describeProblem(error: unknown): string {
  if (ConfigError.isInstance(error)) return withPlace(placeOfFrame(error.stack), error.problems.join(' '))
  if (!(error instanceof Error)) return String(error)
  const message = error.message.replace(/\n[^]*$/, '')
  return withPlace(placeOf(error), message)
}

function withPlace(place: string | undefined, sentence: string): string {
  // The sentence of a missing module names its place itself.
  return place === undefined || sentence.includes(place) ? sentence : `${place}: ${sentence}`
}

function placeOf(error: Error): string | undefined {
  const { stack = '' } = error
  const head = /^(file:\/\/\S+?):(\d+)$/m.exec(stack.slice(0, stack.indexOf('\n')))
  if (head !== null) return inProject(head[1], head[2])
  const frame = placeOfFrame(stack)
  if (frame !== undefined) return frame
  return error instanceof SyntaxError ? inProject(lastModule) : undefined
}

/** The first frame of the stack in the project's own code. */
function placeOfFrame(stack = ''): string | undefined {
  for (const [, url, line] of stack.matchAll(/(file:\/\/[^\s)]+?):(\d+):\d+/g)) {
    const place = inProject(url, line)
    if (place !== undefined) return place
  }
  return undefined
}

/** Undefined for a file outside of the project, and for one of a package. */
function inProject(url: string | undefined, line?: string): string | undefined {
  if (url?.startsWith('file:') !== true || url.includes('/node_modules/')) return undefined
  const path = relative(process.cwd(), fileURLToPath(url))
  if (path.startsWith('..')) return undefined
  return line === undefined ? path : `${path}:${line}`
}
