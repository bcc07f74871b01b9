/**
 * A worker process of `everthread dev`: `worker-program FILE BUNDLE`, with a channel to the process that starts it. It loads the agents
 * and makes the workflow bundle, if no earlier worker has, while Temporal still starts; when it reads where that is, it runs.
 *
 * Invariant: it ends with its parent, however that one ends.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { createWorker } from '../../worker/index.js'
import { installLineLogging } from '../../worker/logging.js'
import { bundleWorkflowCode, DefaultLogger } from '../../worker/temporal-worker.js'
import { workflowBundleOptions } from '../../worker/workflow-bundle.js'
import { describeProblem, loadAgents } from './load-agents.js'
import { dropEmptyKeys, withPracticeModel } from './practice-model.js'
import { useTemporal } from '../temporal-server.js'
import type { TemporalPlace } from '../temporal-server.js'
import type { WorkerMessage } from '../worker-supervisor.js'

// The channel closes with any death of the parent, also kill -9.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

const [file = '', bundle = ''] = process.argv.slice(2)
// Listened to from the beginning: the message may come while the agents are loaded.
const started = once(process, 'message') as Promise<[TemporalPlace]>

/** Resolves when the message is written: a process that ends at once would lose it. */
function send(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}

/** Bundles once for all workers of a `dev`: it takes seconds, and the code of workflows does not depend on agents. */
async function makeBundle(): Promise<void> {
  if (existsSync(bundle)) return
  const logger = new DefaultLogger('WARN')
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger })
  const draft = `${bundle}.${process.pid}`
  await writeFile(draft, code)
  await rename(draft, bundle)
}

async function run(): Promise<void> {
  dropEmptyKeys(process.env)
  // Before any other code of Temporal.
  installLineLogging()
  const { registry, isPractising } = await withPracticeModel(await loadAgents(file))
  await makeBundle()
  const [temporal] = await started
  useTemporal(temporal)
  const worker = await createWorker({ registry, workflowBundle: { codePath: bundle } })
  const running = worker.run()
  const { agents } = registry.names()
  await send({ type: 'ready', identity: worker.options.identity, agents, isPractising })
  await running
}

try {
  await run()
  process.exit(0)
} catch (error) {
  await send({ type: 'problem', text: describeProblem(error) })
  process.exit(1)
}
