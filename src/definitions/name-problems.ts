import { DEFINITION_KINDS, KIND_WORDS } from './known-definitions.js'
import type { DefinitionNames } from './known-definitions.js'
import { LIFECYCLE_TOOLS } from './lifecycle-tools.js'

/** The elements that a list has more than once, each once. */
export function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}

/** Says which names a provider or another tool of Standard Agents may refuse. */
export function nameWarnings(names: DefinitionNames): readonly string[] {
  return DEFINITION_KINDS.flatMap((kind) =>
    [...names[kind]]
      .filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))
      .map((name) => `the name of ${KIND_WORDS[kind]} '${name}' is not in snake_case`),
  )
}

/** Says what has the name of a tool that the runtime itself offers. */
export function reservedNameProblems(names: DefinitionNames): readonly string[] {
  return (['agents', 'prompts', 'tools'] as const).flatMap((kind) =>
    Object.values(LIFECYCLE_TOOLS)
      .filter((name) => names[kind].has(name))
      .map(
        (name) =>
          `${KIND_WORDS[kind]} '${name}' has the name of the tool that prompts with resumable subagents get: call it otherwise`,
      ),
  )
}
