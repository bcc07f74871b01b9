import { requirePeer } from '../activities/peer-packages.js'

/** `@temporalio/worker`, for everything in this package that runs code of it. */
export const {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  bundleWorkflowCode,
  makeTelemetryFilterString,
} = requirePeer<typeof import('@temporalio/worker')>('@temporalio/worker')

export type DefaultLogger = import('@temporalio/worker').DefaultLogger
export type Worker = import('@temporalio/worker').Worker
