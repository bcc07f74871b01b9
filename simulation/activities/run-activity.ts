import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import type { StoreStopAnswer } from '../../src/protocol/end-activities.js'
import { completeCall } from './complete-call.js'
import { executeTool } from './execute-tool.js'
import { prepareChild, prepareMessage } from './prepare.js'
import { checkChildren, deliverReport, expireChild } from './reports.js'
import { callModelAhead } from './run-ahead.js'
import { runEffect, settle } from './settle.js'
import type { Attempt, Steps } from './steps.js'

type Run = (attempt: Attempt, input: never) => Steps<unknown>

const RUNS: ReadonlyMap<string, Run> = new Map<string, Run>([
  [ACTIVITIES.callModel, callModelAhead],
  [ACTIVITIES.executeTool, executeTool],
  [ACTIVITIES.prepareChild, prepareChild],
  [ACTIVITIES.prepareMessage, prepareMessage],
  [ACTIVITIES.completeCall, completeCall],
  [ACTIVITIES.deliverReport, deliverReport],
  [ACTIVITIES.checkChildren, checkChildren],
  [ACTIVITIES.expireChild, expireChild],
  [ACTIVITIES.runEffect, runEffect],
  [ACTIVITIES.settle, settle],
  [ACTIVITIES.storeStop, storeStop],
  ['draw', draw],
])

/** Begins an attempt; `input` is what came over the line. */
export function runActivity(attempt: Attempt, name: string, input: unknown): Steps<unknown> {
  const run = RUNS.get(name)
  if (run === undefined) throw new Error(`Expected an activity of the protocol, got ${name}.`)
  // The workflow wrote it for this very activity.
  return run(attempt, input as never)
}

/** Nothing here: a cancellation reaches an activity at any moment anyway. */
function* storeStop(): Steps<StoreStopAnswer> {
  yield
  return { type: 'stored' }
}

/** A worker in another language: it claims the call, and answers unless the call was given up meanwhile. */
function* draw(
  { world }: Attempt,
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
): Steps<string> {
  const remote = world.thread(threadId).remotes.get(callId)
  if (remote?.state === 'open') remote.state = 'started'
  yield
  if (remote?.state === 'started' && world.random.chance(0.9)) remote.state = 'answered'
  return 'answered'
}
