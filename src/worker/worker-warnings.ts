import { ConfigError } from '../protocol/errors.js'
import { suggestName } from '../protocol/values.js'
import type { VariableDefinition } from '../definitions/agent.js'
import { sourcesOf } from '../definitions/known-definitions.js'
import type { Registry } from '../definitions/known-definitions.js'
import { listScopedVariables } from '../definitions/prompt.js'
import type { PromptDefinition } from '../definitions/prompt.js'
import { covers } from '../policy/permissions.js'
import type { Permissions } from '../policy/permissions.js'
import { noteSecret } from '../store/known-secrets.js'
import type { SecretBox } from '../store/secret-box.js'
import { Runtime } from './temporal-worker.js'

const warned = new WeakSet<Registry>()

/** Logs the warnings of a registry, once for each registry. */
export function warnOfRegistry(registry: Registry): void {
  if (warned.has(registry)) return
  warned.add(registry)
  for (const warning of registry.warnings) Runtime.instance().logger.warn(warning)
}

/** Logs a warning for each rule of a worker that is about no capability of its definitions. */
export function warnOfRules(registry: Registry, permissions: Permissions | undefined): void {
  for (const warning of ruleWarnings(registry, permissions)) Runtime.instance().logger.warn(warning)
}

/** One sentence for each rule that is about no capability, with the nearest name. */
export function ruleWarnings(registry: Registry, permissions: Permissions = {}): readonly string[] {
  const { agents, prompts, tools } = registry.names()
  const definitions = [
    ...agents.map((name) => registry.agent(name)),
    ...prompts.map((name) => registry.prompt(name)),
    ...tools.map((name) => registry.tool(name)),
  ]
  const known = [...new Set(definitions.flatMap((definition) => definition?.capabilities ?? []))]
  return Object.keys(permissions)
    .filter((rule) => rule !== '*' && !known.some((capability) => covers(rule, capability)))
    .map((rule) => {
      const sentence = `The rule "${rule}" of permissions is about no capability of a definition`
      return sentence + (suggestName(rule, known) || '.')
    })
}

/** Logs a warning if a worker has no key and needs one. */
export function warnOfMissingKey(registry: Registry, given: Parameters<typeof secretKeyWarning>[1]): void {
  const warning = secretKeyWarning(registry, given)
  if (warning !== null) Runtime.instance().logger.warn(warning)
}

/** @throws ConfigError if sources of tools keep logins, and the worker has no key that seals them */
export function checkLoginKey(registry: Registry, { keyIds }: Pick<SecretBox, 'keyIds'>): void {
  const names = sourcesOf(registry).flatMap(({ name, keepsLogins }) => (keepsLogins === true ? [name] : []))
  if (names.length === 0 || keyIds.length > 0) return
  throw new ConfigError([
    `Expected EVERTHREAD_SECRET_KEY or store.secretKey, which seals the logins of people at ${names.join(', ')}, got none: ` +
      'set 32 bytes as base64 or hex, the same for all workers and clients, or give oauth.logins.',
  ])
}

interface Given {
  readonly secrets: Pick<SecretBox, 'keyIds'>
  /** Values that need no store. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * The warning that a worker without a key cannot store the secrets of its definitions, before a thread fails on it. Null if
 * the worker has a key or needs none.
 */
export function secretKeyWarning(registry: Registry, { secrets, env }: Given): string | null {
  if (secrets.keyIds.length > 0) return null
  const declared = declaredVariables(registry).filter(
    ({ type, name }) => type === 'secret' && env[name] === undefined,
  )
  // Values that are handed on are stored, whatever their source is.
  const handedOn = promptsOf(registry).flatMap(listScopedVariables)
  const names = new Set([...declared, ...handedOn].map(({ name }) => name))
  if (names.size === 0) return null
  return (
    `This worker has no EVERTHREAD_SECRET_KEY, and its definitions have secrets (${[...names].join(', ')}): they cannot be ` +
    'stored. Set it to 32 bytes as base64 or hex, the same for all workers and clients.'
  )
}

/**
 * Notes the worker's own values that threads treat as secrets: those that no definition declares as text. An error that
 * quotes one is stored without it, even if it is thrown by code that no state has given the value.
 */
export function noteSecretsOfEnv(registry: Registry, env: Given['env']): void {
  const declared = declaredVariables(registry)
  const typesOf = (name: string) =>
    declared.flatMap((variable) => (variable.name === name ? [variable.type] : []))
  for (const [name, value] of Object.entries(env)) {
    const types = typesOf(name)
    if (types.length === 0 || types.includes('secret')) noteSecret(name, value)
  }
}

function promptsOf(registry: Registry): readonly PromptDefinition[] {
  return registry.names().prompts.flatMap((name) => registry.prompt(name) ?? [])
}

function declaredVariables(registry: Registry): readonly VariableDefinition[] {
  const tools = registry.names().tools.flatMap((name) => registry.tool(name) ?? [])
  return [...promptsOf(registry), ...tools].flatMap(({ variables = [] }) => variables)
}
