import { patched, sleep } from '@temporalio/workflow'
import { callModel as callModelBefore } from '../../../src/workflows/steps.js'

export * from '../../../src/workflows/steps.js'

/** In the place of the workflow's own in the next version: another order of commands, behind a patch. */
export async function callModel(...parameters: Parameters<typeof callModelBefore>): Promise<void> {
  if (patched('pause-before-model')) await sleep(1)
  return callModelBefore(...parameters)
}
