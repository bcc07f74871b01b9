import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { workflowBundleOptions } from 'everthread/worker'

/** Files with workflow code. */
export interface Bundles {
  readonly threads: string
  readonly bare: string
}

/** As for production: made once, and loaded by each worker. */
export async function makeBundles(folder: string): Promise<Bundles> {
  const logger = new DefaultLogger('WARN')
  const bundles = { threads: join(folder, 'threads.cjs'), bare: join(folder, 'bare.cjs') }
  const { code: threads } = await bundleWorkflowCode({ ...workflowBundleOptions, logger })
  await writeFile(bundles.threads, threads)
  const workflowsPath = new URL('../step/bare-loop.ts', import.meta.url).pathname
  const { code: bare } = await bundleWorkflowCode({ workflowsPath, logger })
  await writeFile(bundles.bare, bare)
  return bundles
}
