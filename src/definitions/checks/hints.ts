import type { DefinitionKind } from '../known-definitions.js'

/** The present form of `defineTool` and `defineHook`, which once took their parts by position. */
const AS_OBJECT: Partial<Readonly<Record<DefinitionKind, string>>> = {
  tools: 'defineTool({ description, args, execute })',
  hooks: 'defineHook({ hook, id, execute })',
}

/** The hint for a definition in the old form, by position; undefined for any other value. */
export function positionHint(kind: DefinitionKind, given: unknown): string | undefined {
  const spelling = AS_OBJECT[kind]
  const type = typeof given
  if (spelling === undefined || (type !== 'string' && type !== 'function')) return undefined
  return `expected one object, got a ${type}: write ${spelling}`
}

export function notSupportedYet(path: string): string {
  return `uses what is not supported yet: ${path}`
}

/** Lists the names that occur more than once, each once. */
export function findRepeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
