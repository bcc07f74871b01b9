import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Compiled files are next to `.js`, sources (when tests run them) next to `.ts`. */
const EXTENSION = extname(new URL(import.meta.url).pathname)

/**
 * What Temporal's `bundleWorkflowCode` needs to bundle threads ahead of time. The bundle does not depend on agents:
 * `createWorker({ workflowBundle: { codePath } })` takes it. Workflows are reached by path, never by import.
 */
export const workflowBundleOptions = {
  workflowsPath: pathOf('workflows/index'),
  payloadConverterPath: pathOf('protocol/payload-converter'),
  workflowInterceptorModules: [pathOf('workflows/interceptors')],
}

function pathOf(module: string): string {
  return fileURLToPath(new URL(`../${module}${EXTENSION}`, import.meta.url))
}
