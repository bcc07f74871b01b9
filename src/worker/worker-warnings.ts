import { Runtime } from '@temporalio/worker'

import type { Registry } from '../definitions/registry.js'
import { isPostgres } from '../store/postgres/postgres-place.js'
import { secretKeyWarning } from './secret-key-warning.js'

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
