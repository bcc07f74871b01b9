import { positionHint } from '../definitions/checks/hints.js'
import { importDefault, otherExport, withArticle, wordOf } from '../definitions/default-export.js'
import { KIND_WORDS } from '../definitions/known-definitions.js'
import type { DefinitionKind } from '../definitions/known-definitions.js'
import type { DefinitionFile } from './definition-files.js'

/** What a file holds, or what is wrong with it. */
export type ImportedDefinition =
  | { readonly ok: true; readonly name: string; readonly definition: object }
  | { readonly ok: false; readonly problem: string }

/** A field that each definition of a kind has. Tools and effects share theirs: only their folders tell them apart. */
const SIGNS: Readonly<Record<DefinitionKind, string>> = {
  agents: 'sideA',
  models: 'provider',
  hooks: 'hook',
  prompts: 'prompt',
  tools: 'execute',
  effects: 'execute',
}

/** Imports the default export of a file. Tools and effects are named by their file, the others by themselves. */
export async function importDefinition(
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
  if (!(SIGNS[kind] in exported)) return problem(descriptionOf(exported, kind))
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
