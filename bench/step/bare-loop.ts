import { proxyActivities } from '@temporalio/workflow'

import type { BareActivities } from './bare-activities.js'

const { first, second } = proxyActivities<BareActivities>({ startToCloseTimeout: '1 minute' })

/** The least that two activities a step can cost on Temporal. */
export async function bareLoop(steps: number): Promise<void> {
  for (let step = 1; step <= steps; step += 1) {
    await first()
    await second()
  }
  // The beginning of the step after the last one: n steps need n + 1 marks.
  await first()
}
