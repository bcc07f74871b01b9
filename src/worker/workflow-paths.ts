import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { leanBundle } from './lean-bundle.js'

/** Compiled files are next to `.js`, sources (when tests run them) next to `.ts`. */
const EXTENSION = extname(new URL(import.meta.url).pathname)

/**
 * What Temporal's `bundleWorkflowCode` needs to bundle threads ahead of time; with workflows of your own give it their path
 * and `plugins: [new EverthreadPlugin({ registry })]` instead. The bundle does not depend on agents: workers take it as
 * `workflowBundle: { codePath }`. Workflows are reached by path, never by import.
 */
export const workflowBundleOptions = {
  workflowsPath: pathOf('workflows/index'),
  payloadConverterPath: pathOf('protocol/payload-converter'),
  workflowInterceptorModules: [pathOf('workflows/interceptors')],
  webpackConfigHook: leanBundle,
}

/** Our workflows with a user's own. */
export const BESIDE_THEIRS = pathOf('workflows/beside-theirs')

/** The files that stand for a user's own modules, in whose place the bundler puts these. */
export const THEIR_WORKFLOWS = pathOf('workflows/their-workflows')
export const THEIR_CONVERTER = pathOf('protocol/inner-payload-converter')

function pathOf(module: string): string {
  return fileURLToPath(new URL(`../${module}${EXTENSION}`, import.meta.url))
}
