import { ACTIVITIES } from '../protocol/activities.js'
import type { ThreadActivities } from '../protocol/activities.js'
import { callModel } from './call-model/call-model.js'
import { checkChildren } from './check-children.js'
import { completeCall } from './complete-call/complete-call.js'
import { deliverReport } from './deliver-report/deliver-report.js'
import type { ActivityDependencies } from './dependencies.js'
import { executeTool } from './execute-tool/execute-tool.js'
import { expireChild } from './expire-child.js'
import { prepareChild } from './prepare-child/prepare-child.js'
import { prepareMessage } from './prepare-message/prepare-message.js'
import { runEffect } from './run-effect/run-effect.js'
import { settle } from './settle.js'

type Named = { readonly [N in keyof ThreadActivities as (typeof ACTIVITIES)[N]]: ThreadActivities[N] }

/** The activities of a worker, under their wire names. */
export function createActivities(dependencies: ActivityDependencies): Named {
  return {
    [ACTIVITIES.callModel]: (input) => callModel(dependencies, input),
    [ACTIVITIES.executeTool]: (input) => executeTool(dependencies, input),
    [ACTIVITIES.prepareChild]: (input) => prepareChild(dependencies, input),
    [ACTIVITIES.prepareMessage]: (input) => prepareMessage(dependencies, input),
    [ACTIVITIES.completeCall]: (input) => completeCall(dependencies, input),
    [ACTIVITIES.deliverReport]: (input) => deliverReport(dependencies, input),
    [ACTIVITIES.checkChildren]: (input) => checkChildren(dependencies, input),
    [ACTIVITIES.expireChild]: (input) => expireChild(dependencies, input),
    [ACTIVITIES.runEffect]: (input) => runEffect(dependencies, input),
    [ACTIVITIES.settle]: (input) => settle(dependencies, input),
  }
}
