import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkDefinitions } from '../definitions/checks/check-definitions.js'
import type { UnreadNames } from '../definitions/checks/check-definitions.js'
import { DEFINITION_KINDS, KIND_WORDS } from '../definitions/known-definitions.js'
import type { DefinitionKind, Registry } from '../definitions/known-definitions.js'
import { registry } from '../definitions/registry.js'
import { ConfigError } from '../protocol/errors.js'
import { definitionFiles, folderEntries } from './definition-files.js'
import { importDefinition } from './import-definition.js'

/**
 * Reads a folder in the layout of Standard Agents: `agents`, `prompts`, `models`, `tools`, `hooks` and `effects`, a
 * definition a file, as its default export. Files of tools and effects name them; names are known as `string` only.
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
  if (read.every(({ files }) => files === 0)) throw await nothingIn(root)
  const problems = read.flatMap((kind) => kind.problems)
  const definitions = Object.fromEntries(read.map(({ kind, definitions: of }) => [kind, of]))
  if (problems.length > 0) {
    const unread: UnreadNames = Object.fromEntries(read.map(({ kind, unread: names }) => [kind, names]))
    throw new ConfigError([...problems, ...checkDefinitions(definitions, unread).problems])
  }
  // What its types would say is checked at run time.
  const checked = registry(definitions as unknown as Parameters<typeof registry>[0])
  const warnings = [
    ...read.flatMap((kind) => kind.warnings),
    ...endpointWarnings(entries),
    ...checked.warnings,
  ]
  return { ...checked, warnings }
}

/** The layout's own outermost folder is called `agents` too: to name the folder around it is an easy slip. */
async function nothingIn(root: string): Promise<ConfigError> {
  const inner = join(root, 'agents')
  const entries = (await folderEntries(inner)) ?? []
  const hint = DEFINITION_KINDS.some((kind) => entries.includes(`${kind}/`)) ? `: did you mean ${inner}?` : ''
  return new ConfigError([`Expected definitions, a file each, in the folders of ${root}, got none${hint}`])
}

interface ReadKind {
  readonly files: number
  readonly kind: DefinitionKind
  /** As `registry()` takes them. */
  readonly definitions: readonly object[] | Readonly<Record<string, object>>
  /** Names of files that have a problem: what refers to them has none of its own. */
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
    // Hooks are found by id, wherever they are.
    warnings: sound
      .filter(({ file, name }) => kind !== 'hooks' && file.name !== name)
      .map(({ file, name }) => `${file.path} has the ${KIND_WORDS[kind]} '${name}', not '${file.name}'`),
  }
}

function endpointWarnings(entries: readonly string[]): readonly string[] {
  if (!entries.includes('api/')) return []
  return ['api/ is passed over: loadThreadEndpoints of everthread/server reads it']
}
