import { requirePeer } from './peer-packages.js'

/** `@temporalio/activity`, for everything in this package that runs code of it. */
export const { Context, activityInfo, log } =
  requirePeer<typeof import('@temporalio/activity')>('@temporalio/activity')
