import type { Frame } from '../../protocol/activities.js'
import type { CompleteCallAnswer, CompleteCallInput } from '../../protocol/complete-call.js'
import { modelOperationId, resultOperationId } from '../../protocol/ids.js'
import { CUT_OFF } from '../../protocol/message.js'
import { findOperation } from '../../store/operations.js'
import { findMessage } from '../../store/read-messages.js'
import type { Reader } from '../../store/store.js'
import { nestedToolCalls } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { EMPTY_ANSWER_TOOL } from '../call-model/answer-rows.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { subpromptOf } from '../execute-tool/subprompt-of.js'
import { keptPlan } from '../plan-content.js'
import { frameReport } from './frame-report.js'
import type { NestedCall, NestedStep } from './frame-report.js'

/** The nested step of a prompt tool is over: its rows become the result of the call that made it. */
export async function completeByFrame(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  frame: Frame,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const { threadId, callId } = input
  const content = await keptPlan(dependencies, input.plan)
  // Its rows name the row of the result as their parent since the frame began.
  const outer = await store.read((db) => findOperation(db, threadId, callId))
  const resultId = outer?.message_id ?? null
  const hooks = callHooks(dependencies, { input, content })
  const begun = await beginCall(store, input, {
    ...{ operationId: resultOperationId(callId), again: true, opens: false },
    ...(resultId === null ? {} : { resultId }),
  })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  const step = await store.read((db) => nestedStep(db, input, frame))
  const report = step.hasFailed
    ? failed(step.text, 'model_failed')
    : frameReport(subpromptOf(content, call, frame.prompt), step)
  return commitResult(store, call, report, { hooks, closes: callId })
}

/** The words of the step's answer, and what its calls came to. */
async function nestedStep(
  db: Reader,
  { threadId, run, step }: CompleteCallInput,
  frame: Frame,
): Promise<NestedStep & { readonly hasFailed: boolean }> {
  const operation = await findOperation(db, threadId, modelOperationId(run, step, frame.callId))
  const answer = operation?.message_id == null ? null : await findMessage(db, threadId, operation.message_id)
  const made = await nestedToolCalls(db, threadId, frame.callId)
  const calls: NestedCall[] = []
  // An answer of nothing has nothing to report; there is no further step that could mend it.
  for (const call of made) if (call.name !== EMPTY_ANSWER_TOOL) calls.push(await nestedCall(db, call))
  // Its words say why no model answered, or which hook kept it from being asked.
  const hasFailed = answer?.status === 'failed'
  const { content = '', attachments = [], finish_reason = null } = answer ?? {}
  return { text: content ?? '', isCut: finish_reason === CUT_OFF, attachments, calls, hasFailed }
}

async function nestedCall(db: Reader, call: ToolCallRecord): Promise<NestedCall> {
  const { thread_id: threadId, name, arguments: args, result_message_id: id } = call
  const result = id === null ? null : await findMessage(db, threadId, id)
  const { content, attachments } = result ?? { content: null, attachments: [] }
  return { name, args, succeeded: call.status === 'succeeded', content: content ?? '', attachments }
}
