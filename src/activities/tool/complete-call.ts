import { parseArguments } from '../../definitions/plan/tool-arguments.js'
import type { CompleteCallAnswer, CompleteCallInput, Completion, Frame } from '../../protocol/activities.js'
import { modelOperationId, resultOperationId } from '../../protocol/ids.js'
import { CUT_OFF } from '../../protocol/message.js'
import { closeRequests, findRequest } from '../../store/calls/requests.js'
import { nestedToolCalls } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { findMessage } from '../../store/messages/transcript.js'
import { findOperation } from '../../store/operations.js'
import type { Reader } from '../../store/store.js'
import { findChild } from '../../store/threads/children.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { whileBeating } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { keptPlan, waitForDefinition } from '../plan-content.js'
import { completeByChildren } from '../subagents/child-outcome.js'
import { nameOfChild } from '../subagents/report-text.js'
import { EMPTY_ANSWER_TOOL } from '../turn/commit-answer.js'
import { callHooks, openHookedCall } from './call-hooks.js'
import { failed, succeeded } from './call-result.js'
import { commitResult, commitWithEffects } from './commit-result.js'
import { frameReport, subpromptOf } from './frame-report.js'
import type { NestedCall, NestedStep } from './frame-report.js'
import { beginCall } from './held-call.js'
import { completeByRemote } from './remote-call.js'
import { toCallResult } from './tool-result.js'

/** A call that did not end with its own activity gets its result: from its children, its nested step, or from outside. */
export async function completeCall(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
): Promise<CompleteCallAnswer> {
  return whileBeating(async () => {
    const { by } = input
    switch (by.kind) {
      case 'children':
        return completeByChildren(dependencies, input, by)
      case 'sent':
        return completeBySent(dependencies, input, by)
      case 'frame':
        return completeByFrame(dependencies, input, by.frame)
      case 'remote':
        return completeByRemote(dependencies, input)
      case 'response':
        return completeByResponse(dependencies, input, by.requestId)
    }
  })
}

/** The call does not wait: it says who works, and how the result comes. */
async function completeBySent(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  { references }: Extract<Completion, { readonly kind: 'sent' }>,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const hooks = callHooks(dependencies, { input, content })
  const operationId = resultOperationId(input.callId)
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const children: ChildRecord[] = []
  for (const reference of references) {
    const child = await store.read((db) => findChild(db, input.threadId, reference))
    if (child !== null) children.push(child)
  }
  const subagentId = references.length === 1 ? (references[0] ?? null) : null
  return commitResult(store, begun.call, succeeded(sentText(children), { subagentId }), { hooks })
}

function sentText(children: readonly ChildRecord[]): string {
  const names = children.map((child) => `${nameOfChild(child)} (reference: ${child.reference})`)
  const [first] = children
  if (first === undefined || children.length > 1)
    return `${children.length} subagents work now; what they report comes as one message when all are done: ${names.join(', ')}.`
  const how =
    first.parent_communication === 'explicit'
      ? 'it sends a message when it has something to say'
      : 'its result comes as a message'
  return `The subagent ${names.join('')} works now; ${how}.`
}

/** The nested step of a prompt tool is over: its rows become the result of the call that made it. */
async function completeByFrame(
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

/** The answer from outside is the result: looked at as the tool's own would have been, its files included. */
async function completeByResponse(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  requestId: string,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const lost = callHooks(dependencies, { input, content })
  const begun = await beginCall(store, input, {
    ...{ operationId: resultOperationId(input.callId), again: true, opens: false },
    response: { requestId },
  })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  const request = await store.read((db) => findRequest(db, input.threadId, requestId))
  // A bare update says that there is an answer, and anybody can send one (T10).
  if (request?.answer == null) {
    await store.write((tx) => closeRequests(tx, { threadId: input.threadId, callIds: [input.callId] }))
    const problem = failed('The call was answered without a result.', 'invalid_result')
    return commitResult(store, call, problem, { hooks: lost })
  }
  const args = argumentsOf(dependencies, call.row)
  const signal = new AbortController().signal
  // The first half of the call has made ids from the call's own.
  const calling = { input, content, originId: resultOperationId(input.callId) }
  const opened = await openHookedCall(dependencies, calling, signal)
  const result = await toCallResult(store, { call, ...opened, args, content, result: request.answer })
  return commitWithEffects(store, call, { result, hooks: opened.hooks })
}

/** As the tool had them; a session's payload may be mapped from them. */
function argumentsOf(
  { registry }: ActivityDependencies,
  { name, arguments: text }: ToolCallRecord,
): Record<string, unknown> {
  const tool = registry.tool(name)
  if (tool === undefined) waitForDefinition()
  const parsed = parseArguments(tool?.args, text)
  return parsed.ok ? parsed.args : {}
}
