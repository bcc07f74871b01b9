/**
 * The activity `callModel`: phases 1 to 4 of a step: drain, assemble the context, call the model, persist its answer.
 * Owns: the order of these phases, the opening of a step, the beginning of a run, and its end if a variable is
 * missing.
 * Does not own: each phase (`drain.ts`, `model-request.ts`, `candidates.ts`, `answer-commit.ts`), and the action
 * after the answer, which the workflow decides.
 * Three short transactions, none of them held across the network: drain, start, commit (T2, T4). From the second step of a run on
 * the first two are one, unless there is something to drain. A retry does not drain again, and answers a finished operation from
 * its row. A model that was called and did not answer is called again, and every request is counted.
 */
import { randomUUID } from 'node:crypto'

import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { ModelError } from '../../model/model-error.js'
import type { CallModelAnswer, CallModelInput, EndAnswer, Frame } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { actualSide } from '../../protocol/plan.js'
import { putPlan } from '../../store/agents.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { withStops } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { requestHooks } from '../hooks/hook-points.js'
import { stepBatch } from '../hooks/step-batch.js'
import { begin, commit, finish, lookUp, record, unstoredFacts } from '../operation.js'
import type { HeldOperation } from '../operation.js'
import { loadPlan, planOfStep } from '../plan-content.js'
import { countTokens, waitForTokens } from '../rate-limits.js'
import { promptNamed, promptOf } from '../../definitions/plan/plan-content.js'
import { microseconds, stepScope } from '../scope.js'
import { Context } from '../temporal-activity.js'
import { openThread } from '../thread-row.js'
import {
  endVariablesRequests,
  openVariablesRequest,
  openVariablesRequests,
} from '../variables/variables-requests.js'
import { missingVariables } from '../variables/variables.js'
import type { RequiredVariables } from '../variables/variables.js'
import { withOfferedTools, withVariables } from '../variables/resolved-prompt.js'
import { withSourceTools } from '../sources/source-tools.js'
import { endCharge } from '../budget/charge-request.js'
import { activate, activationInput } from './activation.js'
import { commitReply } from './answer-commit.js'
import { lastFacts } from './answer-facts.js'
import type { FailedModel } from './answer-facts.js'
import { callCandidates } from './candidates.js'
import { writeDeltas } from './deltas.js'
import { drainAndCall, drainWithoutPlan } from './drain.js'
import { compact } from '../compaction/compact.js'
import { dueCompaction } from '../compaction/due-compaction.js'
import { NO_DRAIN_HOOKS, runDrainHooks } from './drain-hooks.js'
import { beginFrame } from './frame.js'
import type { BegunFrame } from './frame.js'
import { buildRequest } from './model-request.js'
import type { BuiltRequest, Compaction, RequestParts } from './model-request.js'
import {
  beginOperationOf,
  MISSING,
  modelBeginning,
  newPlan,
  operationOf,
  operationsOf,
  withNewPlan,
  withOperations,
} from './model-step.js'
import type { ModelStep } from './model-step.js'
import { RequestLog } from './request-log.js'
import type { OperationDetail } from './request-log.js'
import { describeChoice, routeOf } from './routing.js'
import { beginRunRow, handOver, runStartFact } from './run-start.js'

export async function callModel(
  dependencies: ActivityDependencies,
  sent: CallModelInput,
): Promise<CallModelAnswer> {
  return withStops(dependencies.store, sent, async (signal) => {
    const { toolFirst, frame, activated } = sent
    if (toolFirst) return beginRun(dependencies, sent)
    if (frame !== null) return callInFrame(dependencies, { ...sent, frame }, signal)
    const begun = [operationOf(sent), ...(activated ? [] : [operationOf(activationInput(sent))])]
    const content = await planOfStep(dependencies, sent, begun)
    if (content === null) return drainWithoutPlan(dependencies.store, sent)
    if (isOfOtherTaskQueue(sent, content)) return { type: 'moved', plan: content.plan }
    const input = { ...sent, side: actualSide(content.plan, sent.side) }
    const activates = activated ? null : await activate(dependencies, { input, content }, signal)
    if (activates !== null) return activates
    const step = { input, content }
    return drainAndCall(dependencies, step, (own, held) => callDrained(own, { ...step, held }, signal))
  })
}

/** The rest of a model call, whose step is drained. */
async function callDrained(
  dependencies: ActivityDependencies,
  { input, content, held }: DrainedStep,
  signal: AbortSignal,
): Promise<CallModelAnswer> {
  const blocked = await endIfBlocked(dependencies, { input, content, held })
  if (blocked !== null) return blocked
  const prompt = await resolvePrompt(dependencies, input, {
    content,
    prompt: promptOf(content, input.side),
  })
  const hooks = hooksOf(dependencies, { input, content, prompt, held, path: [] })
  const step = openStep({ input, content, held, prompt, parentId: null, hooks })
  return callProviders(dependencies, step, { frameMessage: null, signal })
}

async function callInFrame(
  dependencies: ActivityDependencies,
  sent: CallModelInput & { readonly frame: Frame },
  signal: AbortSignal,
): Promise<CallModelAnswer> {
  const opened = await openFrame(dependencies, sent)
  if (opened.kind === 'answered') return opened.answer
  const { message: frameMessage, parentId } = opened.frame
  const { input, content, held } = opened
  const listed = promptNamed(content, sent.frame.prompt)
  const prompt = await resolvePrompt(dependencies, input, { content, prompt: listed })
  const path = [promptOf(content, input.side).name]
  const hooks = hooksOf(dependencies, { input, content, prompt, held, path })
  const step = openStep({ input, content, held, prompt, parentId, hooks })
  return callProviders(dependencies, step, { frameMessage, signal })
}

type OpenedFrame =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | {
      readonly kind: 'held'
      readonly input: CallModelInput
      readonly content: PlanContent
      readonly held: HeldOperation
      readonly frame: Extract<BegunFrame, { readonly kind: 'begun' }>
    }

/**
 * Opens the nested step of a prompt tool. It drains nothing, and holds the operation of a model call below the call
 * that it answers (T4).
 */
async function openFrame(dependencies: ActivityDependencies, input: CallModelInput): Promise<OpenedFrame> {
  const { store } = dependencies
  if (input.plan === null) throw new Error('Expected the plan of the outer step, got none.')
  const content = await loadPlan(dependencies, input.plan)
  const key = operationOf(input)
  const known = await store.read((db) => lookUp<CallModelAnswer>(db, key))
  if (known.kind === 'answered') return known
  const frame = await beginFrame(dependencies, input, content)
  if (frame.kind === 'answered') return frame
  return store.write(async (tx): Promise<OpenedFrame> => {
    const found = await lookUp<CallModelAnswer>(tx, key)
    if (found.kind === 'answered') return found
    const { held } = await begin(tx, found, { ...modelBeginning(input, content), messageId: randomUUID() })
    return { kind: 'held', input, content, held, frame }
  })
}

/** Resolves the variables of a prompt, removes the tools that the flags of its subagents do not allow, and adds those of its sources. */
export async function resolvePrompt(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  { content, prompt }: Pick<ModelStep, 'content' | 'prompt'>,
): Promise<ModelStep['prompt']> {
  const { threadId, agent } = input
  const scope = { threadId, agent, content }
  const own = await withVariables(dependencies, scope, prompt)
  // Sources come first: whatever flags say now, they get no name of the prompt itself.
  const all = await withSourceTools(dependencies, input, own)
  const offered = await withOfferedTools(dependencies, scope, own)
  return all === own
    ? offered
    : { ...offered, tools: [...offered.tools, ...all.tools.slice(own.tools.length)] }
}

interface HookScope extends Pick<ModelStep, 'input' | 'content' | 'prompt'> {
  readonly held: HeldOperation
  /** The names of the prompts around this one. */
  readonly path: readonly string[]
}

function hooksOf(
  dependencies: ActivityDependencies,
  { input, content, prompt, held, path }: HookScope,
): HookBatch {
  const promptPath = [...path, prompt.name]
  return stepBatch(dependencies, {
    input,
    content,
    ids: prompt.hooks,
    deciding: prompt.deciding,
    promptPath,
    name: held.id,
    recordsMissing: true,
  })
}

interface Opening extends Pick<ModelStep, 'input' | 'content' | 'prompt' | 'parentId' | 'hooks'> {
  readonly held: HeldOperation
}

/** @throws for an operation without a message: a bug of the caller */
export function openStep({ held, ...opening }: Opening): ModelStep {
  const { input, content } = opening
  const { messageId, state, now } = held
  if (messageId === null) throw new Error('Expected a model operation with its message, found none.')
  // Written by `RequestLog`: the store's boundary.
  const known = held.detail as Partial<OperationDetail> | null
  return {
    ...opening,
    operation: held,
    messageId,
    scope: { ...stepScope(input), messageId },
    now,
    startedAt: performance.now(),
    log: new RequestLog({ plan: content.plan.digest, ...known }),
    isStep: true,
    resumed: state !== 'drained',
    operations: operationsOf(held),
  }
}

interface Call {
  readonly frameMessage: RequestParts['frameMessage']
  readonly signal: AbortSignal
}

async function callProviders(
  dependencies: ActivityDependencies,
  step: ModelStep,
  { frameMessage, signal }: Call,
): Promise<CallModelAnswer> {
  const { store, registry } = dependencies
  const { input, content, prompt } = step
  const route = routeOf(registry, step, input.frame === null ? 'reply' : 'nested')
  if (route.available.length === 0)
    return commitReply(dependencies, step, {
      failures: [missingModelFailure(prompt.model)],
      routing: describeChoice(route, { selected: null, repeats: false, failures: [], request: null }),
    })
  const limited = await waitForTokens(dependencies, step)
  if (limited !== null) return limited
  const hooks = requestHooks(step.hooks, input)
  const system = await hooks.afterSystemMessage(systemText(prompt.system))
  const cutWithSummary = (compaction: Compaction) => compact(dependencies, { step, signal }, compaction)
  const own: { request: BuiltRequest | null } = { request: null }
  const build = async (model: string, cuts: number) => {
    const parts = { store, input, content, prompt, model, cuts, system, frameMessage, hooks }
    const request = await buildRequest({ ...parts, compact: cutWithSummary })
    if (model === prompt.model) own.request = request
    return request
  }
  const reply = await streamAnswer(dependencies, { step, route, build, signal })
  const operations = [...step.operations, ...dueCompaction(step, reply, own.request)]
  const answer = await commitReply(dependencies, { ...step, operations }, reply)
  await endCharge(dependencies, step, answer)
  return countTokens(dependencies, input, answer)
}

/** Calls the models, and streams the text of the answer into the store. */
async function streamAnswer(
  dependencies: ActivityDependencies,
  call: Omit<Parameters<typeof callCandidates>[1], 'deltas'>,
): ReturnType<typeof callCandidates> {
  const deltas = writeDeltas(dependencies.store, call.step)
  try {
    return await callCandidates(dependencies, { ...call, deltas })
  } finally {
    await deltas.finish()
  }
}

/** The failure of a step whose worker has neither the model nor any of its fallbacks. */
function missingModelFailure(model: string): FailedModel {
  const message = `No worker has the model "${model}".`
  return { model, error: new ModelError({ kind: 'not_registered', message, retryable: false }) }
}

/** The text of a system prompt: its parts are joined without separators. */
export function systemText(parts: PromptContent['system']): string {
  return parts.map((part) => (part.type === 'text' ? part.content : '')).join('')
}

/**
 * True if the prompt belongs to another task queue than this one. Before the first step of a run the workflow does
 * not have the plan, so it cannot know the queue. The activity then does nothing but return the plan, and the
 * workflow schedules it once more.
 */
function isOfOtherTaskQueue(sent: CallModelInput, content: PlanContent): boolean {
  if (sent.plan !== null || sent.moved === true) return false
  const { plan } = content
  const { taskQueue } = plan.prompts[promptOf(content, actualSide(plan, sent.side)).name] ?? {}
  return taskQueue !== undefined && taskQueue !== Context.current().info.taskQueue
}

/**
 * Begins a run whose first call is a queued tool: writes its row and its plan, drains nothing, and calls no model.
 */
async function beginRun(dependencies: ActivityDependencies, input: CallModelInput): Promise<CallModelAnswer> {
  const key = beginOperationOf(input)
  const content = await planOfStep(dependencies, input, [key])
  const begun: CallModelAnswer = content === null ? MISSING : { type: 'begun', ...newPlan(input, content) }
  const hooked = content === null ? NO_DRAIN_HOOKS : await runDrainHooks(dependencies, input, content)
  const now = microseconds(input)
  return dependencies.store.write(async (tx): Promise<CallModelAnswer> => {
    const thread = await openThread(tx, input)
    if (thread === null) return { type: 'terminated' }
    const found = await lookUp<CallModelAnswer>(tx, key)
    if (found.kind === 'answered')
      return content === null ? found.answer : withNewPlan(found.answer, input, content)
    const handed = content === null ? [] : await handOver(tx, input, thread)
    if (content !== null) await putPlan(tx, { digest: content.plan.digest, content, now })
    const detail = content === null ? null : { plan: content.plan.digest }
    const events = [...(await unstoredFacts(tx, input)), ...handed, ...(await recordRunStart(tx, input))]
    await appendEvents(tx, { threadId: key.threadId, events, now })
    const answer = withOperations(begun, await hooked.commit(tx))
    await record(tx, key, { kind: 'begin', place: { run: input.run }, answer, detail, now })
    return answer
  })
}

async function recordRunStart(
  tx: Writer,
  input: CallModelInput,
): Promise<readonly ReturnType<typeof runStartFact>[]> {
  const { trigger } = input
  if (trigger === null || !(await beginRunRow(tx, input, trigger))) return []
  return [runStartFact(input, trigger)]
}

interface DrainedStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly held: HeldOperation
}

/**
 * After the drain and before any model call: ends a run whose prompt lacks a required variable, and opens a request
 * for the variable. The drained messages stay in the transcript. Null: the run continues. The first step of a run
 * also ends the variable requests of earlier runs.
 */
async function endIfBlocked(
  dependencies: ActivityDependencies,
  step: DrainedStep,
): Promise<CallModelAnswer | null> {
  const { store } = dependencies
  const { input, content } = step
  // The variables of nested steps are checked when their run begins.
  if (input.frame !== null) return null
  const { threadId, agent, side } = input
  const prompt = promptOf(content, side).name
  const variables = await missingVariables(dependencies, { threadId, agent, content, prompt })
  const now = microseconds(input)
  const requests = input.trigger === null ? [] : await store.read((db) => openVariablesRequests(db, threadId))
  if (variables.missing.length > 0)
    return commit(store, step.held, async (tx) => {
      await endVariablesRequests(tx, { threadId, requests, decision: 'closed', now })
      return endBlocked(tx, step, variables)
    })
  if (requests.length > 0)
    await store.write((tx) => endVariablesRequests(tx, { threadId, requests, decision: 'supplied', now }))
  return null
}

async function endBlocked(
  tx: Writer,
  { input, content, held }: DrainedStep,
  variables: RequiredVariables,
): Promise<EndAnswer> {
  const { threadId, agent, run } = input
  const now = microseconds(input)
  const id = await openVariablesRequest(tx, { threadId, run }, { ...variables, agent, now })
  const blocked: EndAnswer = {
    type: 'end',
    reason: 'blocked',
    outcome: 'blocked',
    request: { id, kind: 'variables' },
    ...newPlan(input, content),
  }
  const answer = withOperations(blocked, operationsOf(held))
  await finish(tx, held, { answer })
  await appendEvents(tx, { threadId, events: restOfStep(input), now })
  return answer
}

/** The remaining events of a step that ends before its model call. */
function restOfStep(input: CallModelInput): readonly Fact[] {
  const scope = stepScope(input)
  return [...([2, 3, 4] as const).map((phase) => phaseFact(phase, scope)), ...lastFacts({ input }, 'blocked')]
}
