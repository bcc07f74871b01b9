import type { Client } from '@temporalio/client'

import { until } from '../../support/until.js'

/** Makes a version current, as a deploy does when its first worker polls. */
export async function setCurrentVersion(
  client: Client,
  deploymentName: string,
  buildId: string,
): Promise<void> {
  const { namespace } = client.options
  const { workflowService } = client.connection
  await until(`version ${buildId} as current`, async () => {
    try {
      await workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName,
        buildId,
        version: `${deploymentName}.${buildId}`,
        ignoreMissingTaskQueues: true,
      })
      return true
    } catch (error) {
      // Its first poll has not come yet.
      if (
        error instanceof Error &&
        /not found|no worker deployment found|no pollers|has not been/i.test(error.message)
      )
        return false
      throw error
    }
  })
}
