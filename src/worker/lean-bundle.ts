import type { BundleOptions } from '@temporalio/worker'

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]

/** Leaves out the banner with each module's path: a twentieth of a bundle, which every worker reads and parses as it starts. */
export function withoutBanners(config: WebpackConfig): WebpackConfig {
  return { ...config, output: { ...config.output, pathinfo: false } }
}
