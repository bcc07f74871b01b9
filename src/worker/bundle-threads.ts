import type { BundleOptions, BundlerPlugin } from '@temporalio/worker'

import { leanBundle } from './lean-bundle.js'
import { BESIDE_THEIRS, THEIR_CONVERTER, THEIR_WORKFLOWS, workflowBundleOptions } from './workflow-paths.js'

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]

/**
 * Puts threads into a bundle: `agentThread` beside the workflows that are there, our payload converter around theirs (T10),
 * our interceptors before theirs. The bundle of a worker without workflows of its own stays ours alone.
 */
export function bundleThreads(options: BundleOptions): BundleOptions {
  const { workflowsPath: ours, payloadConverterPath, workflowInterceptorModules } = workflowBundleOptions
  const theirs = new Map<string, string>()
  if (options.workflowsPath !== ours) theirs.set(THEIR_WORKFLOWS, options.workflowsPath)
  if (isTheirs(options.payloadConverterPath)) theirs.set(THEIR_CONVERTER, options.payloadConverterPath)
  const hook = options.webpackConfigHook ?? ((config) => config)
  return {
    ...options,
    workflowsPath: theirs.has(THEIR_WORKFLOWS) ? BESIDE_THEIRS : ours,
    payloadConverterPath,
    workflowInterceptorModules: [
      ...workflowInterceptorModules,
      ...(options.workflowInterceptorModules ?? []),
    ],
    // Theirs sees ours, and has the last word.
    webpackConfigHook: (config) => hook(withModules(leanBundle(config), theirs)),
  }
}

/** The same for a worker that bundles its own code. */
export const threadBundler: BundlerPlugin = { name: 'everthread', configureBundler: bundleThreads }

function isTheirs(path: string | undefined): path is string {
  return path !== undefined && path !== workflowBundleOptions.payloadConverterPath
}

/** Webpack takes their module wherever ours asks for the file that stands for it. */
function withModules(config: WebpackConfig, modules: ReadonlyMap<string, string>): WebpackConfig {
  const { alias: known = {} } = config.resolve ?? {}
  const theirs = [...modules].map(([name, alias]) => ({ name, alias, onlyModule: true }))
  const alias = Array.isArray(known)
    ? [...known, ...theirs]
    : { ...known, ...Object.fromEntries(theirs.map((one) => [`${one.name}$`, one.alias])) }
  return { ...config, resolve: { ...config.resolve, alias } }
}
