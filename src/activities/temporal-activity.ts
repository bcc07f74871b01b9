import { requirePeer } from './peer-packages.js'

/** `@temporalio/activity`, for all code of this package that needs its values. */
export const { Context, activityInfo, log } =
  requirePeer<typeof import('@temporalio/activity')>('@temporalio/activity')
