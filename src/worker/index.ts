export { createWorker } from './create-worker.js'
export { workflowBundleOptions } from './workflow-paths.js'

export type { CreateWorkerOptions } from './create-worker.js'
