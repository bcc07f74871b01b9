export { createWorker } from './create-worker.js'
export { loadRegistry } from './load-registry.js'
export { workflowBundleOptions } from './workflow-paths.js'

export type { CreateWorkerOptions } from './create-worker.js'
