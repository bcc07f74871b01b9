import type { Logger } from '@temporalio/worker'
import type { VariableDefinition } from '../definitions/agent.js'
import type { Registry } from '../definitions/known-definitions.js'
import { scopedVariables } from '../definitions/prompt.js'
import type { PromptDefinition } from '../definitions/prompt.js'
import { noteSecret } from '../store/known-secrets.js'
import { isPostgres } from '../store/postgres/postgres-place.js'
import type { SecretBox } from '../store/secret-box.js'
import { ownTaskQueue } from '../store/store-location.js'
import { Runtime } from './temporal-worker.js'

const warned = new WeakSet<Registry>()

/** Logs what is allowed but probably not meant, once for each registry. */
export function warnOfRegistry(registry: Registry): void {
  if (warned.has(registry)) return
  warned.add(registry)
  for (const warning of registry.warnings) Runtime.instance().logger.warn(warning)
}

/** Logs that a worker needs a key that it does not have. */
export function warnOfMissingKey(registry: Registry, given: Parameters<typeof secretKeyWarning>[1]): void {
  const warning = secretKeyWarning(registry, given)
  if (warning !== null) Runtime.instance().logger.warn(warning)
}

/** SQLite is a file of this machine: workers elsewhere would run the same threads without their content. */
export function warnOfRemoteTemporal(address: string, database: string): void {
  if (isPostgres(database)) return
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return
  Runtime.instance().logger.warn(
    `Threads are stored in a SQLite file of this machine, while Temporal is at ${address}: ` +
      'run all workers and clients of this task queue on this machine.',
  )
}

/** Pairs of a worker's store and another one, of which the log tells. */
const mixed = new Set<string>()
/** More than a few other stores on one queue say nothing new. */
const MOST_MIXED = 10

interface OtherStore {
  /** The store of this worker. */
  readonly worker: string
  /** The store of the threads. */
  readonly threads: string
  readonly taskQueue: string
}

/** Logs once in a process that its task queue has threads of another store, which this worker leaves alone. */
export function warnOfOtherStore(
  log: Pick<Logger, 'warn'>,
  { worker, threads, taskQueue }: OtherStore,
): void {
  const pair = `${worker} ${threads}`
  if (mixed.has(pair) || mixed.size >= MOST_MIXED) return
  mixed.add(pair)
  log.warn(
    `The task queue "${taskQueue}" has threads of the store ${threads}, and the store of this worker is ${worker}: this worker ` +
      'refuses their work, and they wait for a worker of their store. If both are one project, give all its workers and ' +
      'clients the same EVERTHREAD_DATABASE_URL; if not, give each project a task queue of its own (without a taskQueue ' +
      `and without EVERTHREAD_TASK_QUEUE this worker polls "${ownTaskQueue(worker)}").`,
  )
}

interface Given {
  readonly secrets: Pick<SecretBox, 'keyIds'>
  /** Values that need no store. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Says that a worker without a key cannot keep what its definitions call secret, before a thread finds out. Null: it has a
 * key, or needs none.
 */
export function secretKeyWarning(registry: Registry, { secrets, env }: Given): string | null {
  if (secrets.keyIds.length > 0) return null
  const declared = declaredVariables(registry).filter(
    ({ type, name }) => type === 'secret' && env[name] === undefined,
  )
  // What is handed on is stored, wherever it comes from.
  const handedOn = promptsOf(registry).flatMap(scopedVariables)
  const names = new Set([...declared, ...handedOn].map(({ name }) => name))
  if (names.size === 0) return null
  return (
    `This worker has no EVERTHREAD_SECRET_KEY, and its definitions have secrets (${[...names].join(', ')}): they cannot be ` +
    'stored. Set it to 32 bytes as base64 or hex, the same for all workers and clients.'
  )
}

/**
 * Notes the worker's own values that threads treat as secrets: those that no definition declares as text. An error that
 * quotes one is stored without it, also if it was thrown where no state had given the value out.
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
