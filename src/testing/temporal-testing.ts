import { requirePeer } from '../activities/peer-packages.js'

/** `@temporalio/testing`, for everything in this package that runs code of it. */
export const { TestWorkflowEnvironment } =
  requirePeer<typeof import('@temporalio/testing')>('@temporalio/testing')

export type TestWorkflowEnvironment = import('@temporalio/testing').TestWorkflowEnvironment
