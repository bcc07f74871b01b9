import { ACTIVITIES, wholeInput } from '../protocol/answer-problem.js'
import type { ThreadActivities } from '../protocol/answer-problem.js'
import { DELIVER_OUTCOME } from '../protocol/payloads/tool-workflow.js'
import type { DeliverOutcomeAnswer, DeliverOutcomeInput } from '../protocol/payloads/tool-workflow.js'
import type { ActivityDependencies } from './activity.js'
import { observeCall, observeSettle, observeWork } from './observe.js'
import { callModelAhead } from './run-ahead.js'
import { runEffect } from './run-effect.js'
import { settle } from './settle.js'
import { storeStop } from './store-stop.js'
import { checkChildren } from './subagents/closed-child.js'
import { deliverReport } from './subagents/deliver-report.js'
import { expireChild } from './subagents/expire-child.js'
import { prepareChild } from './subagents/prepare-child.js'
import { prepareMessage } from './subagents/prepare-message.js'
import { completeCall } from './tool/complete-call.js'
import { executeTool } from './tool/execute-tool.js'
import { deliverOutcome } from './workflow-tools/deliver-outcome.js'

type NamedActivities = {
  readonly [N in keyof ThreadActivities as (typeof ACTIVITIES)[N]]: ThreadActivities[N]
} & {
  /** Of the parent of a tool's workflow, and not of a thread. */
  readonly [DELIVER_OUTCOME]: (input: DeliverOutcomeInput) => Promise<DeliverOutcomeAnswer>
}

/** The activities of a worker, under their wire names. */
export function createActivities(dependencies: ActivityDependencies): NamedActivities {
  return {
    [ACTIVITIES.callModel]: (sent) => callModelAhead(dependencies, wholeInput(ACTIVITIES.callModel, sent)),
    ...callActivities(dependencies),
    [ACTIVITIES.deliverReport]: (input) =>
      observeWork(dependencies, { activity: ACTIVITIES.deliverReport, input }, () =>
        deliverReport(dependencies, input),
      ),
    [ACTIVITIES.checkChildren]: (input) => checkChildren(dependencies, input),
    [ACTIVITIES.expireChild]: (input) => expireChild(dependencies, input),
    [ACTIVITIES.runEffect]: (input) =>
      observeWork(dependencies, { activity: ACTIVITIES.runEffect, input }, () =>
        runEffect(dependencies, input),
      ),
    [ACTIVITIES.storeStop]: (input) => storeStop(dependencies, input),
    [DELIVER_OUTCOME]: (input) => deliverOutcome(dependencies, input),
    [ACTIVITIES.settle]: (input) => observeSettle(dependencies, input, () => settle(dependencies, input)),
  }
}

type CallActivity = 'executeTool' | 'prepareChild' | 'prepareMessage' | 'completeCall'

function callActivities(
  dependencies: ActivityDependencies,
): Pick<NamedActivities, (typeof ACTIVITIES)[CallActivity]> {
  const {
    executeTool: execute,
    prepareChild: prepare,
    prepareMessage: address,
    completeCall: complete,
  } = ACTIVITIES
  return {
    [execute]: (sent) => {
      const input = wholeInput(execute, sent)
      return observeCall(dependencies, { activity: execute, input }, () => executeTool(dependencies, input))
    },
    [prepare]: (input) =>
      observeCall(dependencies, { activity: prepare, input }, () => prepareChild(dependencies, input)),
    [address]: (input) =>
      observeCall(dependencies, { activity: address, input }, () => prepareMessage(dependencies, input)),
    [complete]: (input) =>
      observeCall(dependencies, { activity: complete, input }, () => completeCall(dependencies, input)),
  }
}
