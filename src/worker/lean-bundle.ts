import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { BundleOptions } from '@temporalio/worker'

import { checkPeer } from '../activities/peer-packages.js'

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]

const OURS = fileURLToPath(new URL('..', import.meta.url))
const LOADER = fileURLToPath(
  new URL(`../worker/without-comments${extname(new URL(import.meta.url).pathname)}`, import.meta.url),
)

/**
 * Leaves out what no worker runs, for each reads and parses its bundle as it starts: the banner with each module's path, a
 * twentieth of it, and the comments of our own code, another one. Lines and source maps stay as they are.
 * @throws ConfigError where `@temporalio/workflow` is not installed, which webpack would tell in hundreds of lines
 */
export function leanBundle(config: WebpackConfig): WebpackConfig {
  checkPeer('@temporalio/workflow')
  const { module: modules, output } = config
  const rules = [...(modules?.rules ?? []), { test: /\.[jt]s$/, include: OURS, use: [LOADER] }]
  return { ...config, output: { ...output, pathinfo: false }, module: { ...modules, rules } }
}
