/**
 * The activity `executeTool`: one tool call, phases 5 and 6.
 * Owns: the meaning of a called name, and the path of its call: a function, a handoff, a refusal, or back to the
 * workflow.
 * Does not own: permission of a call (`permission.ts`), the code of a function (`function-call.ts`), the life of the operation
 * (`operation.ts`), and the commit (`commit-result.ts`).
 * A committed `started` row precedes the call, and the outcome is committed with all writes of the call to its thread
 * (T2, T9). A started call without an outcome is `unknown`, unless its tool is idempotent (T4).
 * A tool cannot fail the activity, whatever it does.
 */
import { isDeepStrictEqual } from 'node:util'
import { requireDefinition } from '../../definitions/known-definitions.js'
import { toolPlan } from '../../definitions/plan/build-plan.js'
import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import { listOfferedTools } from '../../definitions/plan/offered-tools.js'
import { findTool } from '../../definitions/plan/listed-tools.js'
import type { HandoffContent, PlanContent, SubagentContent } from '../../definitions/plan/plan-content.js'
import { parseArguments } from '../../definitions/plan/tool-arguments.js'
import type { PromptDefinition } from '../../definitions/prompt.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type {
  CallInput,
  ExecuteToolAnswer,
  ExecuteToolInput,
  KindAnswer,
  ResultAnswer,
  TerminatedAnswer,
} from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { toolPlanOf } from '../../protocol/plan.js'
import type { ToolPlan } from '../../protocol/plan.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { answerOfPart, readResumed } from '../sources/continuation.js'
import { findSourceTool } from '../sources/source-tools.js'
import { withStops } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { filesAt } from '../attachments.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { lookUp, record, unstoredFacts } from '../operation.js'
import { loadPlan, waitForDefinition } from '../plan-content.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { callScope, microseconds } from '../scope.js'
import { Context } from '../temporal-activity.js'
import { openThread } from '../thread-row.js'
import { EMPTY_ANSWER_TOOL } from '../turn/answer-commit.js'
import { listEnabledSubagents } from '../variables/resolved-prompt.js'
import { withWorkflow } from '../workflow-tools/workflow-call.js'
import { describeListed } from './approval-request.js'
import { callHooks } from './call-hooks.js'
import { failureResult, successResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitDenial, commitResult } from './commit-result.js'
import { executeFunction } from './function-call.js'
import { answerOfCall, beginCall, enterCall } from './held-call.js'
import { permitOfName } from './permit.js'
import { readMappedPaths, readMappedText } from './tool-values.js'

export async function executeTool(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  return withStops(store, input, async (signal) => {
    const seen = await lookAtCall(store, input)
    if (seen.kind === 'answered') return seen.answer
    if (seen.kind === 'missing') return skipMissing(store, input)
    const { row, operation } = seen
    const content = await loadPlan(dependencies, input.plan)
    const subject = callSubject(dependencies, { content, input, row })
    // The hooks come before the call begins: a wait for a missing hook must not leave the call `started`.
    const hooks = callHooks(dependencies, { input, content })
    const calling = { input, row, content, signal, hooks }
    switch (subject.kind) {
      case 'function':
        return executeFunction(dependencies, {
          ...{ ...calling, ...subject, operation },
          ...withWorkflow(dependencies, { tool: subject.tool, input, name: row.name, operation }),
        })
      case 'hand_off':
        return handOff(dependencies, input, { binding: subject.binding, content, hooks })
      case 'elsewhere':
        return answerKind(store, input, subject.tool)
      case 'refused':
        return refuse(dependencies, input, { result: subject.result, hooks })
      case 'unknown': {
        const found = await findSourceTool(dependencies, input, {
          ...{ prompt: activePrompt(content, input), name: row.name },
          resumed: await readResumed(store, input.threadId, operation),
        })
        if (found !== null) return executeFunction(dependencies, { ...calling, ...found, operation })
        const result = await unknownToolResult(dependencies, { content, input, name: row.name })
        return refuse(dependencies, input, { result, hooks })
      }
    }
  })
}

async function refuse(
  { store }: ActivityDependencies,
  input: ExecuteToolInput,
  { result, hooks }: { readonly result: CallResult; readonly hooks: HookBatch },
): Promise<ExecuteToolAnswer> {
  const { response } = input
  // This call changes nothing outside of the store, so an interrupted attempt runs again.
  const begun = await beginCall(store, input, { id: input.callId, onInterrupted: 'rerun', response })
  if (begun.kind === 'answered') return begun.answer
  if (begun.kind === 'denied')
    return commitDenial(store, begun.call, { denied: begun.denied, response, hooks })
  return commitResult(store, begun.call, result, { hooks })
}

type Seen =
  | { readonly kind: 'answered'; readonly answer: ExecuteToolAnswer }
  /** Anybody can send a signal that names a call (T10). */
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'open'
      readonly row: ToolCallRecord
      /** Null: no attempt has begun the call. */
      readonly operation: OperationRecord | null
    }

/** A call that has an outcome is answered at once, even by a worker that lacks its tool (T4). */
async function lookAtCall(store: Store, input: ExecuteToolInput): Promise<Seen> {
  const { threadId, callId: id, queued } = input
  return store.read(async (db): Promise<Seen> => {
    const [found, row] = await Promise.all([
      lookUp<ExecuteToolAnswer>(db, { threadId, id }),
      findToolCall(db, threadId, id),
    ])
    const answer = answerOfCall(input, { found, row })
    if (answer !== null) return { kind: 'answered', answer }
    const ended = found.kind === 'answered' ? null : answerOfPart(input, found.operation)
    if (ended !== null) return { kind: 'answered', answer: ended }
    if (row === null && queued) return { kind: 'missing' }
    if (row === null) throw new Error(`Expected a row of the call ${id}, found none.`)
    return { kind: 'open', row, operation: found.operation }
  })
}

const SKIPPED: ResultAnswer = { type: 'result', outcome: 'failed' }

/** Skips and records a tool that a bare signal has queued without the row of its arguments (T10). */
async function skipMissing(store: Store, input: ExecuteToolInput): Promise<ResultAnswer | TerminatedAnswer> {
  const { threadId, callId, run, step } = input
  const now = microseconds(input)
  return store.write(async (tx) => {
    if ((await openThread(tx, { threadId, start: null, createdAt: 0 })) === null)
      return { type: 'terminated' }
    const key = { threadId, id: `${callId}_missing` }
    const detail = { run, step }
    const done = await record(tx, key, { kind: 'tool', place: { run, step }, answer: SKIPPED, detail, now })
    // A retry of the same step has stored its facts with the record; the facts of another step are not stored.
    const known = done ? null : (await lookUp(tx, key)).operation
    if (known !== null && !isDeepStrictEqual(known.detail, detail)) return { ...SKIPPED, storedNothing: true }
    const message = 'A queued tool was skipped: nothing is stored under its id. Queue tools by a client.'
    const warning = fact('runtime.warning', { code: 'tool_skipped', message }, callScope(input))
    if (done)
      await appendEvents(tx, { threadId, events: [...(await unstoredFacts(tx, input)), warning], now })
    return SKIPPED
  })
}

/**
 * Answers with the kind of the tool, with which the workflow goes on. The answer is an operation of its own, so that a
 * retry on another worker gives the same answer.
 */
async function answerKind(store: Store, input: ExecuteToolInput, tool: ToolPlan): Promise<ExecuteToolAnswer> {
  const id = `${input.callId}_kind`
  const answer: KindAnswer = { type: 'kind', tool }
  return store.write(async (tx) => {
    const entered = await enterCall(tx, input, id)
    if (entered.kind === 'answered') return entered.answer
    const { threadId } = input
    const now = microseconds(input)
    await record(tx, entered.found, {
      kind: 'tool',
      place: { run: input.run, step: input.step },
      answer,
      now,
    })
    await appendEvents(tx, {
      threadId,
      events: [...(await unstoredFacts(tx, input)), ...entered.opening],
      now,
    })
    return answer
  })
}

/**
 * Hands the thread over to another agent at the end of the step: the result says so, the message for the new agent
 * follows it, and the workflow gets an operation. If the handoff is impossible, the result is an error, and the present
 * agent goes on.
 */
async function handOff(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
  { binding, content, hooks }: HandingOff,
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const { callId: id, response } = input
  const { capabilities } = binding
  const permit = await permitOfName(dependencies, {
    ...{ input, content, hooks, kind: 'hand_off' },
    isProtected: capabilities !== undefined,
    capabilitiesOf: () => capabilities,
    describe: describeListed(content, input),
  })
  // This call changes nothing outside of the store, so an interrupted attempt runs again.
  const begun = await beginCall(store, input, {
    ...{ id, onInterrupted: 'rerun', response, permit },
    called: { kind: 'hand_off', mode: dependencies.permissionMode },
    charged: { dependencies, content },
  })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (begun.kind === 'denied') return commitDenial(store, call, { denied: begun.denied, response, hooks })
  const result = await handOffResult(dependencies, { input, binding, row: call.row, type: content.plan.type })
  const operations = [{ kind: 'hand_off', agent: binding.agent }] as const
  return commitResult(store, call, result, {
    hooks,
    ...(result.outcome === 'succeeded' ? { operations } : {}),
  })
}

interface HandingOff {
  readonly binding: HandoffContent
  readonly content: PlanContent
  readonly hooks: HookBatch
}

interface Handoff {
  readonly input: ExecuteToolInput
  /** Of the agent that hands over. */
  readonly type: PlanContent['plan']['type']
  readonly binding: HandoffContent
  readonly row: ToolCallRecord
}

async function handOffResult(
  { registry, store }: ActivityDependencies,
  { input, binding, row, type }: Handoff,
): Promise<CallResult> {
  const { threadId } = input
  if (input.handedOff)
    return failureResult('Another agent takes over already at the end of this step.', 'already_handed_off')
  const agent = registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition(`agent "${binding.agent}"`)
    return failureResult(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_tool')
  }
  const thread = await store.read((db) => findThread(db, threadId))
  // A session of one side ends with the answer of whoever has it; one of two sides would never end.
  if (thread?.parent_thread_id != null && agent.type !== 'dual_ai' && type === 'dual_ai')
    return failureResult(
      `This thread works for another one, and "${binding.agent}" talks to a person: it cannot take over.`,
      'handoff_refused',
    )
  const parsed = parseArguments(registry.prompt(agent.sideA.prompt)?.requiredSchema, row.arguments)
  if (!parsed.ok) return failureResult(parsed.problem, 'invalid_arguments')
  const paths = readMappedPaths(parsed.args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return failureResult(paths, 'invalid_arguments')
  const attachments = await store.read((db) => filesAt(db, threadId, paths))
  if (typeof attachments === 'string') return failureResult(attachments, 'invalid_attachment')
  const text = readMappedText(parsed.args, binding.initUserMessageProperty)
  const message = { role: 'user', content: text ?? '', attachments, side: null, prompt: null } as const
  const followedBy = text === null && attachments.length === 0 ? null : message
  return successResult(`"${agent.title ?? agent.name}" takes over this conversation.`, { followedBy })
}

/** The meaning of a called name, which decides how its call goes on. */
type CallSubject =
  | { readonly kind: 'function'; readonly tool: ToolDefinition; readonly timeout: number }
  | { readonly kind: 'hand_off'; readonly binding: HandoffContent }
  /** The workflow goes on with a nested step, with a child, or on the tool's task queue. */
  | { readonly kind: 'elsewhere'; readonly tool: ToolPlan }
  | { readonly kind: 'refused'; readonly result: CallResult }
  /** Nothing of this name may be called here. */
  | { readonly kind: 'unknown' }

type Asked = Pick<ExecuteToolInput, 'side' | 'promptPath' | 'queued' | 'depth' | 'moved'>

/**
 * Finds the tool that the active prompt lists under the name; for a tool that code has queued, also a tool of the
 * registry. A model's call of any other name is refused.
 * @throws `Definition.Missing` while a rolling deploy may still bring what this worker lacks
 */
function callSubject(
  { registry }: ActivityDependencies,
  {
    content,
    input,
    row,
  }: { readonly content: PlanContent; readonly input: Asked; readonly row: ToolCallRecord },
): CallSubject {
  const { name } = row
  const prompt = activePrompt(content, input)
  const listed = toolPlanOf(content.plan, prompt.name, name)
  // Only the lifecycle tools start a resumable subagent.
  const isResumable = Object.hasOwn(prompt.subagents, name) && prompt.subagents[name]?.resumable != null
  const named = listed === undefined && input.queued && !isResumable ? findTool(registry, name) : undefined
  const planned = listed ?? (named === undefined ? undefined : toolPlan(named))
  if (planned === undefined) {
    if (input.queued && !isResumable) waitForDefinition(`tool "${name}"`)
    return { kind: 'unknown' }
  }
  switch (planned.kind) {
    case 'function': {
      if (isElsewhere(planned) && input.moved !== true) return { kind: 'elsewhere', tool: planned }
      const tool = registry.tool(name)
      if (tool !== undefined) return { kind: 'function', tool, timeout: planned.timeout }
      waitForDefinition(`tool "${name}"`)
      return { kind: 'unknown' }
    }
    case 'hand_off':
      return { kind: 'hand_off', binding: prompt.handoffs[name] ?? unlistedHandoff(registry, planned.agent) }
    case 'prompt':
      if (input.depth >= LIMITS.frameDepth) return refuseSubject(tooDeepResult(name))
      return Object.hasOwn(content.prompts, planned.prompt)
        ? { kind: 'elsewhere', tool: planned }
        : inPlaceSubject(registry, planned.prompt)
    case 'subagent':
    case 'subagent_create':
    case 'subagent_message':
      return { kind: 'elsewhere', tool: planned }
  }
}

/** A handoff that code has queued and no prompt lists. */
function unlistedHandoff(registry: ActivityDependencies['registry'], agent: string): HandoffContent {
  const capabilities = registry.agent(agent)?.capabilities
  return { agent, ...(capabilities === undefined ? {} : { capabilities }) }
}

/**
 * True if the tool runs on another task queue. The workflow lacks the queue of a name that its prompt does not list, so
 * this activity finds it.
 */
function isElsewhere({ taskQueue }: Extract<ToolPlan, { readonly kind: 'function' }>): boolean {
  return taskQueue !== undefined && taskQueue !== Context.current().info.taskQueue
}

/** A prompt outside of the plan: only code can have queued it, so it runs in place, as code does. */
function inPlaceSubject(registry: ActivityDependencies['registry'], name: string): CallSubject {
  const {
    toolDescription: description,
    requiredSchema,
    capabilities = [],
  } = requireDefinition(registry.prompt(name), `prompt '${name}'`)
  const tool: ToolDefinition<PromptDefinition['requiredSchema']> = {
    description,
    capabilities,
    // What it does is judged by its own calls.
    readOnly: true,
    ...(requiredSchema === undefined ? {} : { args: requiredSchema }),
    execute: (state, args) => state.invokeTool(name, args),
  }
  return { kind: 'function', tool, timeout: LIMITS.toolTimeout }
}

function refuseSubject(result: CallResult): CallSubject {
  return { kind: 'refused', result }
}

function tooDeepResult(name: string): CallResult {
  return failureResult(
    `"${name}" was called ${LIMITS.frameDepth} prompts deep, the deepest they may be: answer without it.`,
    'too_deep',
  )
}

interface UnknownCall {
  readonly content: PlanContent
  readonly input: Pick<CallInput, 'threadId' | 'agent' | 'side' | 'promptPath'>
  /** The name in the call. */
  readonly name: string
}

/** The error for a name that cannot be called: the reason, and the names that may be called instead. */
async function unknownToolResult(
  dependencies: ActivityDependencies,
  { content, input, name }: UnknownCall,
): Promise<CallResult> {
  if (name === EMPTY_ANSWER_TOOL)
    return failureResult('Your last answer was empty. Answer with text, or call a tool.', 'empty_answer')
  const prompt = activePrompt(content, input)
  const { threadId, agent } = input
  const enabled = await listEnabledSubagents(dependencies, { threadId, agent, content }, prompt)
  const subagent = Object.hasOwn(prompt.subagents, name) ? prompt.subagents[name] : undefined
  if (subagent !== undefined) return subagentProblemResult(subagent, enabled.includes(subagent))
  const offered = listOfferedTools(prompt, enabled)
  if (offered.some((tool) => tool.name === name)) return unavailableResult(name)
  const names = offered.map((tool) => tool.name).join(', ')
  const known = names === '' ? 'There are no tools.' : `The tools are: ${names}.`
  return failureResult(`There is no tool "${name}". ${known}`, 'unknown_tool')
}

/** The error for an agent that is disabled, missing, or resumable, which only the lifecycle tools call. */
function subagentProblemResult({ agent, resumable }: SubagentContent, isEnabled: boolean): CallResult {
  if (!isEnabled)
    return failureResult(`The agent "${agent}" is not enabled here, so it cannot be called.`, 'not_enabled')
  if (resumable === null) return unavailableResult(agent)
  const { create, message } = LIFECYCLE_TOOLS
  return failureResult(
    `"${agent}" is no tool: start an instance with ${create} and the agent "${agent}", or write with ${message} to one that is there.`,
    'unknown_tool',
  )
}

function unavailableResult(name: string): CallResult {
  return failureResult(`The tool "${name}" is not available at the moment.`, 'unknown_tool')
}
