import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkDefinitions } from '../definitions/checks/check-definitions.js'
import type { UnreadNames } from '../definitions/checks/check-definitions.js'
import { positionHint } from '../definitions/checks/hints.js'
import { importDefault, moduleName, otherExport, withArticle, wordOf } from '../definitions/default-export.js'
import { DEFINITION_KINDS, KIND_WORDS } from '../definitions/known-definitions.js'
import type { DefinitionKind, Registry } from '../definitions/known-definitions.js'
import { registry } from '../definitions/registry.js'
import { isAgent } from '../definitions/short-form/agent.js'
import { expandAgents } from '../definitions/short-form/expand.js'
import { ConfigError } from '../protocol/errors.js'

/**
 * Reads a folder in the layout of Standard Agents: `agents`, `prompts`, `models`, `tools`, `hooks` and `effects`, with one
 * definition per file, as its default export. Tools and effects are named by their files. The types of all names are `string`.
 * @throws ConfigError with every problem at once, those of files with their path in the folder
 */
export async function loadRegistry(folder: URL | string): Promise<Registry> {
  const root = folder instanceof URL ? fileURLToPath(folder) : resolve(folder)
  const entries = (await folderEntries(root)) ?? []
  const kinds = DEFINITION_KINDS.filter((kind) => entries.includes(`${kind}/`))
  if (kinds.length === 0) {
    const expected = DEFINITION_KINDS.map((kind) => `${kind}/`).join(', ')
    throw new ConfigError([`Expected folders of definitions (${expected}) in ${root}, got none`])
  }
  const read = await Promise.all(DEFINITION_KINDS.map((kind) => readKind(root, kind)))
  if (read.every(({ files }) => files === 0)) throw await emptyFolderError(root)
  const problems = read.flatMap((kind) => kind.problems)
  const definitions = Object.fromEntries(read.map(({ kind, definitions: of }) => [kind, of]))
  if (problems.length > 0) {
    const unread: UnreadNames = Object.fromEntries(read.map(({ kind, unread: names }) => [kind, names]))
    const expanded = expandAgents(definitions)
    const others = checkDefinitions(expanded.definitions, { ...expanded.unread, ...unread })
    throw new ConfigError([...problems, ...expanded.problems, ...others.problems])
  }
  // `registry` checks at run time what its types check for definitions in code.
  const checked = registry(definitions as unknown as Parameters<typeof registry>[0])
  const warnings = [
    ...read.flatMap((kind) => kind.warnings),
    ...endpointWarnings(entries),
    ...checked.warnings,
  ]
  return { ...checked, warnings }
}

/** The outermost folder of the layout is called `agents` too, so its parent is easily given by mistake. */
async function emptyFolderError(root: string): Promise<ConfigError> {
  const inner = join(root, 'agents')
  const entries = (await folderEntries(inner)) ?? []
  const hint = DEFINITION_KINDS.some((kind) => entries.includes(`${kind}/`)) ? `: did you mean ${inner}?` : ''
  return new ConfigError([`Expected definitions, a file each, in the folders of ${root}, got none${hint}`])
}

interface ReadKind {
  readonly files: number
  readonly kind: DefinitionKind
  /** In the form that `registry()` takes. */
  readonly definitions: readonly object[] | Readonly<Record<string, object>>
  /** Names of files that have a problem: references to them are not reported as well. */
  readonly unread: readonly string[]
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

async function readKind(root: string, kind: DefinitionKind): Promise<ReadKind> {
  const files = await definitionFiles(root, kind)
  const imported = await Promise.all(
    files.map(async (file) => ({ file, ...(await importDefinition(kind, file)) })),
  )
  const sound = imported.filter((one) => one.ok)
  const failed = imported.filter((one) => !one.ok)
  const isKeyed = kind === 'tools' || kind === 'effects'
  return {
    files: files.length,
    kind,
    definitions: isKeyed
      ? Object.fromEntries(sound.map(({ name, definition }) => [name, definition]))
      : sound.map(({ definition }) => definition),
    unread: failed.map(({ file }) => file.name),
    problems: [
      ...failed.map(({ problem }) => problem),
      ...files
        .filter(({ name }, index) => files.findIndex((file) => file.name === name) !== index)
        .map(({ path, name }) => `${path}: expected one file a name, got another of '${name}'`),
    ],
    // Hooks are found by id, whatever their files are called.
    warnings: sound
      .filter(({ file, name }) => kind !== 'hooks' && file.name !== name)
      .map(({ file, name }) => `${file.path} has the ${KIND_WORDS[kind]} '${name}', not '${file.name}'`),
  }
}

function endpointWarnings(entries: readonly string[]): readonly string[] {
  if (!entries.includes('api/')) return []
  return ['api/ is ignored here: loadThreadEndpoints of everthread/server reads it']
}

/** The definition in a file, or the problem of the file. */
type ImportedDefinition =
  | { readonly ok: true; readonly name: string; readonly definition: object }
  | { readonly ok: false; readonly problem: string }

/** A field that each definition of a kind has. Tools and effects have the same one: only their folders distinguish them. */
const SIGNS: Readonly<Record<DefinitionKind, string>> = {
  agents: 'sideA',
  models: 'provider',
  hooks: 'hook',
  prompts: 'prompt',
  tools: 'execute',
  effects: 'execute',
}

/** Imports the default export of a file. Tools and effects are named by their file, the others by themselves. */
async function importDefinition(
  kind: DefinitionKind,
  { path, name, location }: DefinitionFile,
): Promise<ImportedDefinition> {
  const imported = await importDefault(path, location)
  if (!imported.ok) return imported
  const { value: exported } = imported
  const problem = (got: string) => ({ ok: false, problem: otherExport(path, KIND_WORDS[kind], got) }) as const
  const hint = positionHint(kind, exported)
  if (hint !== undefined) return { ok: false, problem: `${path}: ${hint}` }
  if (typeof exported !== 'object' || exported === null) return problem(wordOf(exported))
  if (!(SIGNS[kind] in exported) && !(kind === 'agents' && isAgent(exported)))
    return problem(descriptionOf(exported, kind))
  if (kind === 'tools' || kind === 'effects') return { ok: true, name, definition: exported }
  const field = kind === 'hooks' ? 'id' : 'name'
  const own = (exported as Readonly<Record<string, unknown>>)[field]
  if (typeof own === 'string') return { ok: true, name: own, definition: exported }
  return problem(`one without ${field}`)
}

function descriptionOf(exported: object, kind: DefinitionKind): string {
  const other = (Object.keys(SIGNS) as readonly DefinitionKind[]).find((known) => SIGNS[known] in exported)
  return other === undefined ? `an object without ${SIGNS[kind]}` : withArticle(KIND_WORDS[other])
}

/** A file that should export one definition. */
interface DefinitionFile {
  /** Relative to the folder of all kinds, with slashes. */
  readonly path: string
  /** The name of the file, without its extension. */
  readonly name: string
  readonly location: string
}

/** Lists the names in a folder; folders end in a slash. Undefined if there is no such folder. */
async function folderEntries(folder: string): Promise<readonly string[] | undefined> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Lists the definitions in the folder of one kind by file name, without declarations, tests and hidden files. */
async function definitionFiles(root: string, kind: string): Promise<readonly DefinitionFile[]> {
  const entries = (await folderEntries(join(root, kind))) ?? []
  return entries.flatMap((file) => {
    const name = moduleName(file)
    return name === undefined ? [] : [{ path: `${kind}/${file}`, name, location: join(root, kind, file) }]
  })
}
