import type { KnownDefinitions } from './known-definitions.js'

/** What one definition of each kind is called in sentences. */
export const KIND_WORDS = { agents: 'agent', prompts: 'prompt', models: 'model', tools: 'tool' } as const

/** The name of something that may be a definition. */
export function nameOf(definition: unknown): string | undefined {
  if (typeof definition !== 'object' || definition === null || !('name' in definition)) return undefined
  return typeof definition.name === 'string' ? definition.name : undefined
}

/** Says which names of one kind are taken twice. */
export function duplicateNames(definitions: readonly unknown[], word: string): readonly string[] {
  const names = definitions.flatMap((definition) => nameOf(definition) ?? [])
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...repeated].map((name) => `${word} '${name}' is registered more than once`)
}

/** Says which names a provider or another tool of Standard Agents may refuse. */
export function nameWarnings(names: KnownDefinitions['names']): readonly string[] {
  return (['agents', 'prompts', 'models', 'tools'] as const).flatMap((kind) =>
    [...names[kind]]
      .filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))
      .map((name) => `the name of ${KIND_WORDS[kind]} '${name}' is not in snake_case`),
  )
}
