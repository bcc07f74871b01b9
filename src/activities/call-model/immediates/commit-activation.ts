import type { CallModelAnswer } from '../../../protocol/activities.js'
import type { ImmediateCall } from '../../../protocol/child-activities.js'
import type { Fact } from '../../../protocol/facts.js'
import { LIFECYCLE_TOOLS } from '../../../definitions/lifecycle-tools.js'
import { appendEvents } from '../../../store/events.js'
import { finishOperation } from '../../../store/operations.js'
import { stageQueuedTool } from '../../../store/stage-queued-tool.js'
import type { Store, Writer } from '../../../store/store.js'
import { OperationLost, commitHeld } from '../../commit.js'
import { openThread } from '../../thread-row.js'
import { newPlan } from '../drain-step.js'
import { microseconds, operationOf, operationsOf, stepScope } from '../model-step.js'
import { withOperations } from '../with-operations.js'
import type { HeldActivation } from './activation.js'
import type { Derived, DerivedCall } from './derive-calls.js'

/** The last transaction: the calls are staged as queued tools are, and the workflow is told of them. */
export async function commitActivation(
  store: Store,
  activation: HeldActivation,
  { calls, log }: Derived,
): Promise<CallModelAnswer> {
  const { input, content, held } = activation
  const { threadId } = input
  const made = calls.flatMap(({ args, ...call }) => (args === null ? [] : [{ ...call, args }]))
  const usage = log.unreported()
  const activates: CallModelAnswer = {
    type: 'activates',
    ...newPlan(input, content),
    calls: made.map(immediateCall),
    ...(usage === null ? {} : { usage }),
  }
  const answer = withOperations(activates, operationsOf(held))
  const now = microseconds(input)
  return commitHeld(store, operationOf(input), async (tx): Promise<CallModelAnswer> => {
    if ((await openThread(tx, input)) === null) return { type: 'terminated' }
    const finished = { ...operationOf(input), attempt: held.attempt, answer, detail: log.detail(), now }
    if (!(await finishOperation(tx, finished))) throw new OperationLost()
    for (const call of made) await stage(tx, activation, call)
    const events = calls.flatMap((call) => (call.args === null ? [skippedFact(activation, call)] : []))
    await appendEvents(tx, { threadId, events, now })
    return answer
  })
}

type MadeCall = DerivedCall & { readonly args: NonNullable<DerivedCall['args']> }

function immediateCall({ callId: id, subagent: { agent, resumable } }: MadeCall): ImmediateCall {
  return resumable === null
    ? { id, name: agent, tool: { kind: 'subagent', agent } }
    : { id, name: LIFECYCLE_TOOLS.create, tool: { kind: 'subagent_create' } }
}

async function stage(tx: Writer, { input }: HeldActivation, call: MadeCall): Promise<void> {
  const { threadId, side } = input
  const { id: toolCallId, name } = immediateCall(call)
  const tool = { threadId, toolCallId, name, args: call.args, side, immediate: true } as const
  await stageQueuedTool(tx, { ...tool, sentBy: 'runtime', now: microseconds(input) })
}

function skippedFact({ input }: HeldActivation, { subagent, callId }: DerivedCall): Fact {
  const message = `The subagent "${subagent.agent}" did not start by itself: there are no arguments that it takes. Give its schema defaults, or name variables in immediate: { nameEnv, descriptionEnv }.`
  const scope = { ...stepScope(input), toolCallId: callId }
  return { type: 'runtime.warning', scope, payload: { code: 'immediate_skipped', message } }
}
