import type { Registry } from '../definitions/known-definitions.js'
import { registry } from '../definitions/registry.js'
import { ConfigError } from '../protocol/errors.js'
import type { ThreadOptions } from './worker-options.js'

/**
 * The registry that is given, or one of the agents that are given in its place. It is checked at run time, because a wrong import
 * in JavaScript is undefined. @throws ConfigError
 */
export function givenRegistry<R extends Registry>({
  registry: given,
  agents,
}: {
  readonly registry?: R | undefined
  readonly agents?: ThreadOptions['agents'] | undefined
}): R {
  if (agents !== undefined) {
    if (given !== undefined)
      throw new ConfigError([
        'Expected "registry" or "agents", got both: write registry({ agents }), which takes agents of both forms.',
      ])
    // The names of a registry without types are texts, as `R` says where no registry is given.
    return registry({ agents }) as Registry as R
  }
  if (given !== undefined && isRegistry(given)) return given as R
  const came = typeof given === 'object' && given !== null ? 'another object' : String(given)
  throw new ConfigError([
    `Expected "registry" to be a result of registry() or loadRegistry(), got ${came}: check its import`,
  ])
}

/** Whether a value is a result of `registry()` or `loadRegistry()`, of any copy of this package. */
export function isRegistry(given: unknown): given is Registry {
  return (
    typeof given === 'object' &&
    given !== null &&
    'names' in given &&
    typeof given.names === 'function' &&
    'warnings' in given &&
    Array.isArray(given.warnings)
  )
}
