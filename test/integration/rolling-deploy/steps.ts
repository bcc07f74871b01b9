import { patched, sleep } from '@temporalio/workflow'
import { performStep as performStepBefore } from '../../../src/workflows/steps.js'

/** In the place of the workflow's own in the next version: another order of commands, behind a patch. */
export async function performStep(...[host, action]: Parameters<typeof performStepBefore>): Promise<void> {
  if (action.kind === 'callModel' && patched('pause-before-model')) await sleep(1)
  return performStepBefore(host, action)
}
