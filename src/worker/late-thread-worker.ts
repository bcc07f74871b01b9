import { checkFailureText } from '../definitions/failure-text.js'
import { shareStore } from '../store/open-store.js'
import type { Store } from '../store/store.js'
import { checkRegistry } from './check-registry.js'
import { instanceEnv } from './instance-env.js'
import { listWorkerAgents } from './list-worker-agents.js'
import { runCaps } from './run-caps.js'
import type { ThreadOptions } from './thread-options.js'
import type { ThreadWorker } from './worker-options.js'
import { warnOfMissingKey, warnOfRegistry } from './worker-warnings.js'

/** A worker of threads whose store is open while it runs. */
export interface LateThreadWorker extends ThreadWorker {
  readonly workflows: boolean
  run(work: () => Promise<void>): Promise<void>
}

/** @throws ConfigError for options that cannot work */
export function lateThreadWorker({
  registry,
  store: location,
  env,
  limits,
  failureText,
  workflows = true,
}: ThreadOptions): LateThreadWorker {
  checkRegistry(registry)
  checkFailureText(failureText)
  const values = instanceEnv(env)
  let opened: Store | undefined
  return {
    registry,
    caps: runCaps(limits),
    env: values,
    failureText,
    workflows,
    get store() {
      if (opened === undefined)
        throw new Error('Expected a worker that runs, got an activity before its run.')
      return opened
    },
    async run(work) {
      warnOfRegistry(registry)
      const store = await shareStore(location)
      try {
        warnOfMissingKey(registry, { secrets: store.secrets, env: values })
        await listWorkerAgents(store, registry)
        opened = store
        await work()
      } finally {
        await store.close()
      }
    },
  }
}
