import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import type { BundleOptions } from '@temporalio/worker'

import { workflowBundleOptions } from '../../../src/worker/index.js'

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]
type WebpackPlugin = Extract<NonNullable<WebpackConfig['plugins']>[number], object>

const CHANGED = new URL('steps.ts', import.meta.url).pathname

/** The workflow code of the next version: what is deployed, with one file of `src/workflows` changed. */
export async function bundleNextVersion(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    ...workflowBundleOptions,
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => ({ ...config, plugins: [...(config.plugins ?? []), changed] }),
  })
  return code
}

const changed: WebpackPlugin = {
  apply: (compiler) =>
    compiler.hooks.normalModuleFactory.tap('changed', (modules) =>
      modules.hooks.beforeResolve.tap('changed', (data) => {
        // The changed file asks for the old one by another path, and gets it.
        if (data.request === './steps.js' && data.context.endsWith('/src/workflows')) data.request = CHANGED
      }),
    ),
}
