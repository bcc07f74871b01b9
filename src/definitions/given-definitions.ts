import { KIND_WORDS } from './known-definitions.js'
import type { DefinitionKind } from './known-definitions.js'

/** Something that may be a definition, as `registry()` was given it. */
export interface GivenDefinition {
  /** Undefined where a list has something without a name. */
  readonly name: string | undefined
  /** What it is called in sentences. */
  readonly owner: string
  readonly definition: unknown
}

/** All of one kind. Tools and effects are named by their keys, hooks by their ids, the others by their names. */
export function givenDefinitions(input: unknown, kind: DefinitionKind): readonly GivenDefinition[] {
  const given = isRecord(input) ? input[kind] : undefined
  const word = KIND_WORDS[kind]
  if (kind === 'tools' || kind === 'effects') {
    return Object.entries(isRecord(given) && !Array.isArray(given) ? given : {}).map(
      ([name, definition]) => ({
        name,
        owner: `${word} '${name}'`,
        definition,
      }),
    )
  }
  const list: readonly unknown[] = Array.isArray(given) ? given : []
  return list.map((definition, index) => {
    const name = textOf(definition, kind === 'hooks' ? 'id' : 'name')
    const owner = name === undefined || name === '' ? `${kind}[${index}]` : `${word} '${name}'`
    return { name, owner, definition }
  })
}

function textOf(definition: unknown, field: string): string | undefined {
  const value = isRecord(definition) ? definition[field] : undefined
  return typeof value === 'string' ? value : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
