import { createRequire } from 'node:module'

import { ConfigError } from '../protocol/errors.js'

/** What a worker needs of Temporal's SDK, and a service that only calls threads does not. */
const WORKER_PEERS = ['@temporalio/activity', '@temporalio/worker', '@temporalio/workflow']
/** What only `everthread/testing` needs beside them. */
const TESTING_PEER = '@temporalio/testing'

const require = createRequire(import.meta.url)

/**
 * Loads an optional peer dependency, which the user installs. An `import` of one that is missing fails before any code of
 * this package runs, and Node's error names a chunk of `dist`. Temporal's packages are CommonJS: `import` and this give the
 * same instance. @throws ConfigError as `checkPeer`
 */
export function requirePeer<Module>(name: string): Module {
  checkPeer(name)
  return require(name) as Module
}

/** @throws ConfigError where this package is not installed; it names all packages that are missing */
export function checkPeer(name: string): void {
  if (isInstalled(name)) return
  const missing = [...WORKER_PEERS, ...(name === TESTING_PEER ? [name] : [])].filter(
    (peer) => !isInstalled(peer),
  )
  // The door of tests loads that of workers before its own code runs.
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
