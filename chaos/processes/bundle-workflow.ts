import { writeFile } from 'node:fs/promises'

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { workflowBundleOptions } from 'everthread/worker'

/** The workflow of the package that this process imports, into that file. */
export async function bundleWorkflow(path: string): Promise<void> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') })
  await writeFile(path, code)
}
