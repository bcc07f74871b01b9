import { requirePeer } from '../activities/peer-packages.js'

/** `@temporalio/worker`, an optional peer, for all code of this package that runs it. */
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
