import type { VersioningBehavior, WorkerDeploymentVersion } from '@temporalio/common'
import type { WorkerOptions } from '@temporalio/worker'
import { ConfigError } from '../protocol/errors.js'

/** Temporal's own, whose default may be left away. */
export interface ThreadDeploymentOptions {
  readonly version: WorkerDeploymentVersion
  readonly useWorkerVersioning: boolean
  /** @default AUTO_UPGRADE */
  readonly defaultVersioningBehavior?: VersioningBehavior | undefined
}

/**
 * Threads move to a new version as it becomes current: a pinned one that is idle would never wake once the workers of its
 * version are gone. @throws ConfigError when all workflows are to be pinned
 */
export function threadDeployment(
  given: ThreadDeploymentOptions,
): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  if (!given.useWorkerVersioning) return { version: given.version, useWorkerVersioning: false }
  const { version, defaultVersioningBehavior: behavior = 'AUTO_UPGRADE' } = given
  if (behavior === 'PINNED')
    throw new ConfigError([
      'Expected workerDeploymentOptions.defaultVersioningBehavior to be AUTO_UPGRADE, got PINNED: a pinned thread would ' +
        'never wake once the workers of its version are gone; pin workflows of your own with setWorkflowOptions.',
    ])
  return { version, useWorkerVersioning: true, defaultVersioningBehavior: behavior }
}
