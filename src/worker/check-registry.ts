import type { Registry } from '../definitions/known-definitions.js'
import { ConfigError } from '../protocol/errors.js'

/** It trusts no type: a wrong import of JavaScript is undefined. @throws ConfigError */
export function checkRegistry(registry: Registry): void {
  const given: unknown = registry
  const isRegistry =
    typeof given === 'object' &&
    given !== null &&
    'names' in given &&
    typeof given.names === 'function' &&
    'warnings' in given &&
    Array.isArray(given.warnings)
  if (isRegistry) return
  const came = typeof given === 'object' && given !== null ? 'another object' : String(given)
  throw new ConfigError([
    `Expected "registry" to be what registry() or loadRegistry() answers, got ${came}: look at its import`,
  ])
}
