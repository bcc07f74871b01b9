import type { KnownDefinitions } from './known-definitions.js'
import { repeated } from './name-problems.js'
import { meant } from './near-name.js'

/** Says which hooks of an agent or a prompt are not there or are listed in vain. */
export function listedHookProblems(
  owner: string,
  ids: readonly string[],
  known: KnownDefinitions,
): readonly string[] {
  return [
    ...ids
      .filter((id) => !known.names.hooks.has(id))
      .map((id) => `${owner} lists the hook '${id}', which is not registered${meant(id, known.names.hooks)}`),
    ...repeated(ids).map((id) => `${owner} lists the hook '${id}' twice`),
  ]
}
