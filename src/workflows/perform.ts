import type { Action } from '../thread/next-action.js'
import { callModel } from './call-model.js'
import { callPrompt } from './call-prompt.js'
import {
  cancelChild,
  cancelLate,
  sendMessage,
  startChildren,
  startDeferred,
  stopChildren,
} from './child-threads.js'
import { expireChild } from './expire-child.js'
import { announceReport, deliverReport } from './parent-thread.js'
import { runEffect } from './run-effect.js'
import { runRemote } from './run-remote.js'
import { settle } from './settle.js'
import { tellThread } from './tell-thread.js'
import type { ThreadHost } from './thread-host.js'
import { completeCall, executeTool, prepareChild, prepareMessage } from './tool-calls.js'
import { waitForResource, waitForSomething } from './wait.js'

/** Carries out one action and applies what came of it. Its promise is the action's own: each more is paid for in each step. */
export function perform(
  host: ThreadHost,
  action: Exclude<Action, { readonly kind: 'close' }>,
): Promise<void> {
  switch (action.kind) {
    case 'wait':
    case 'awaitChildren':
    case 'awaitAnswer':
    case 'awaitModel':
      return waitForSomething(host, action)
    case 'waitUntil':
      return waitForResource(host, action.until)
    case 'callModel':
      return callModel(host, action)
    case 'callPrompt':
      return callPrompt(host, action)
    case 'executeTool':
      return executeTool(host, action)
    case 'prepareChild':
      return prepareChild(host, action)
    case 'prepareMessage':
      return prepareMessage(host, action)
    case 'startChildren':
      return startChildren(host, action.call)
    case 'sendMessage':
      return sendMessage(host, action.call)
    case 'stopChildren':
      return stopChildren(host, action.call, action.references)
    case 'cancelLate':
      return cancelLate(host, action.call, action.reference)
    case 'startDeferred':
      return startDeferred(host, action.deferred)
    case 'expireChild':
      return expireChild(host, action.deferred)
    case 'runRemote':
      return runRemote(host, action.call)
    case 'completeCall':
      return completeCall(host, action)
    case 'runEffect':
      return runEffect(host, action.effectId)
    case 'deliverReport':
      return deliverReport(host, action.due)
    case 'announceReport':
      return announceReport(host, action.report)
    case 'tell':
      return tellThread(host, action.tell)
    case 'settle':
      return settle(host, action)
    case 'cancelChild':
      return cancelChild(host, action.reference)
  }
}
