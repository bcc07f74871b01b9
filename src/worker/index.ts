export { createWorker } from './create-worker.js'
export { EverthreadPlugin } from './everthread-plugin.js'
export { jsonLogger } from './logging.js'
export { loadRegistry } from './load-registry.js'
export { workflowBundleOptions } from './workflow-bundle.js'

export type { GivenPrices, ModelPrices } from '../definitions/prices/model-prices.js'
export type { FailureText, RunFailure } from '../definitions/failure-text.js'
export type { CreateWorkerOptions, ThreadOptions as EverthreadPluginOptions } from './worker-options.js'
