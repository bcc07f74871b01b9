import { createRequire } from 'node:module'

import { ConfigError } from '../protocol/errors.js'

/** The packages of Temporal's SDK that a worker needs; a service that only calls threads does not need them. */
const WORKER_PEERS = ['@temporalio/activity', '@temporalio/worker', '@temporalio/workflow']
/** The package that only `everthread/testing` needs in addition. */
const TESTING_PEER = '@temporalio/testing'

const require = createRequire(import.meta.url)

/**
 * Loads an optional peer dependency, which the user installs. An `import` of a missing package fails before any code
 * of this package runs, and Node's error names a chunk of `dist`. Temporal's packages are CommonJS, so `import` and
 * this function return the same instance. @throws ConfigError as `checkPeer`
 */
export function requirePeer<Module>(name: string): Module {
  checkPeer(name)
  return require(name) as Module
}

/** @throws ConfigError if this package is not installed; the error names all missing packages */
export function checkPeer(name: string): void {
  if (isInstalled(name)) return
  const missing = [...WORKER_PEERS, ...(name === TESTING_PEER ? [name] : [])].filter(
    (peer) => !isInstalled(peer),
  )
  // `everthread/testing` loads `everthread/worker` before its own code runs, which then fails first.
  const hint =
    name !== TESTING_PEER && !isInstalled(TESTING_PEER)
      ? ` (everthread/testing needs ${TESTING_PEER} too)`
      : ''
  throw new ConfigError([
    `Expected ${missing.join(', ')} beside everthread, got none: run npm install ${missing.join(' ')}${hint}`,
  ])
}

function isInstalled(name: string): boolean {
  try {
    require.resolve(name)
    return true
  } catch {
    return false
  }
}
