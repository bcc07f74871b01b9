/**
 * The arguments with which the immediate subagents of a prompt start.
 * Owns: the hints, the one request to a model that derives arguments from them, and the arguments without a model's
 * answer.
 * Does not own: which subagents start, and the operation in which the requests are counted (`activation.ts`).
 * It is a convenience: after any failure the hints themselves become the arguments. No secret is a hint (T5).
 */
import { randomUUID } from 'node:crypto'

import type { JSONSchema7 } from '@ai-sdk/provider'
import type { z } from 'zod'

import { embedSchema, takesArguments } from '../../definitions/plan/lifecycle-tools.js'
import type { SubagentContent, ToolContent } from '../../definitions/plan/plan-content.js'
import { parseArguments, subagentArguments } from '../../definitions/plan/tool-arguments.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { ModelAnswer } from '../../model/model-answer.js'
import { MODEL_LIMITS } from '../../model/stream-answer.js'
import type { Fact } from '../../protocol/facts.js'
import type { JsonObject } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import type { Store } from '../../store/store.js'
import { assertStoppedByUser } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { stepBatch } from '../hooks/step-batch.js'
import { commit, keep } from '../operation.js'
import type { HeldOperation } from '../operation.js'
import { waitForDefinition } from '../plan-content.js'
import { microseconds, stepScope } from '../scope.js'
import { listShownValues } from '../variables/variables.js'
import { completionFact, failureFact, recordFailures } from './answer-facts.js'
import { endCharge } from '../budget/charge-request.js'
import { callCandidates } from './candidates.js'
import type { Reply } from './candidates.js'
import { contextParts } from './context-parts.js'
import { NO_STREAM } from './deltas.js'
import type { BuiltRequest } from './model-request.js'
import type { ModelStep } from './model-step.js'
import { RequestLog } from './request-log.js'
import type { OperationDetail } from './request-log.js'
import { requestSettings } from './request-settings.js'
import { routeOf } from './routing.js'

/** For all first arguments that models derive when a prompt becomes active: after it the prompt starts without the missing ones. */
const BOOTSTRAP_PATIENCE = 120_000

/** The activation of a prompt, which this attempt holds. */
interface HeldActivation extends Pick<ModelStep, 'input' | 'content' | 'prompt'> {
  readonly held: HeldOperation
}

/** An immediate subagent, and the id of the call that starts it. */
interface Immediate {
  readonly callId: string
  readonly subagent: SubagentContent
}

/** A call and its arguments. Without arguments the call is not made. */
interface DerivedCall extends Immediate {
  readonly args: JsonObject | null
}

interface Derived {
  readonly calls: readonly DerivedCall[]
  readonly log: RequestLog
}

/**
 * Derives the arguments of each call: none if the schema requires none, else those that a model derives from the
 * hints, else the hints themselves. All model calls together take at most `BOOTSTRAP_PATIENCE` milliseconds.
 */
export async function deriveCalls(
  dependencies: ActivityDependencies,
  activation: HeldActivation,
  { due, signal }: { readonly due: readonly Immediate[]; readonly signal: AbortSignal },
): Promise<Derived> {
  const deadline = performance.now() + BOOTSTRAP_PATIENCE
  // Written by `record`: the store's boundary.
  const known = activation.held.detail as Partial<OperationDetail> | null
  let log = new RequestLog({ plan: activation.content.plan.digest, ...known })
  const calls: DerivedCall[] = []
  for (const { callId, subagent } of due) {
    const callee = calleeOf(dependencies, subagent)
    const hints = await hintsOf(dependencies, activation, subagent)
    let args = callee === null ? null : argumentsWithoutModel(callee, hints)
    if (callee !== null && args === null) {
      const bootstrapping = { activation, signal, deadline, log }
      const { written, log: next } = await bootstrap(dependencies, bootstrapping, { subagent, hints })
      log = next
      args =
        (written === null ? null : parseWrittenArguments(callee, written)) ?? deriveFromHints(callee, hints)
    }
    calls.push({ callId, subagent, args })
  }
  return { calls, log }
}

/** The arguments that need no model, because there are no hints or nothing takes them; null if a model is needed. */
function argumentsWithoutModel(callee: Callee, { name, description }: Hints): JsonObject | null {
  const { subagent } = callee
  const hasUse = subagent.resumable !== null || takesArguments(subagent)
  if (hasUse && (name !== null || description !== null)) return null
  return plainArguments(callee)
}

/** Null for an agent that no worker has had for a minute. */
function calleeOf({ registry }: ActivityDependencies, subagent: SubagentContent): Callee | null {
  const agent = registry.agent(subagent.agent)
  if (agent !== undefined) {
    const own = registry.prompt(agent.sideA.prompt)?.requiredSchema
    return { subagent, schema: subagentArguments(own, subagent).schema }
  }
  waitForDefinition()
  return null
}

/** T5: only values that are not secret become hints; `scopedEnv` is not read here. */
async function hintsOf(
  dependencies: ActivityDependencies,
  { input, content, prompt }: HeldActivation,
  { immediate }: SubagentContent,
): Promise<Hints> {
  const { threadId, agent } = input
  const { nameEnv = null, descriptionEnv = null } = immediate ?? {}
  const names = [nameEnv, descriptionEnv].flatMap((name) => name ?? [])
  const scope = { threadId, agent, content, prompt: prompt.name }
  const values = await listShownValues(dependencies, scope, names)
  return { name: hintText(values, nameEnv), description: hintText(values, descriptionEnv) }
}

function hintText(values: ReadonlyMap<string, string>, name: string | null): string | null {
  const value = name === null ? undefined : values.get(name)
  return value === undefined || value.trim() === '' ? null : value
}

interface BootstrapInput {
  readonly activation: HeldActivation
  readonly signal: AbortSignal
  /** The time of `performance` after which no model is called. */
  readonly deadline: number
  /** All requests of the activation so far. */
  readonly log: RequestLog
}

interface BootstrapResult {
  /** The arguments as the model wrote them; null if there are none. */
  readonly written: string | null
  readonly log: RequestLog
}

/**
 * Derives a subagent's first arguments from its hints, by one model call with a forced tool. Any failure, also of a
 * busy provider, leaves the hints as the arguments.
 * @throws `Operation.Lost` if another attempt holds the activation
 */
async function bootstrap(
  dependencies: ActivityDependencies,
  bootstrapping: BootstrapInput,
  about: Bootstrap,
): Promise<BootstrapResult> {
  const { activation, signal, deadline } = bootstrapping
  const step = bootstrapStep(dependencies, bootstrapping)
  const route = routeOf(dependencies.registry, activation, 'bootstrap')
  const { modelLimits: limits = MODEL_LIMITS } = dependencies
  const total = Math.min(limits.total, deadline - performance.now())
  if (route.available.length === 0 || total <= 0 || signal.aborted)
    return { written: null, log: bootstrapping.log }
  const build = async (model: string) => bootstrapRequest(activation, about, model)
  const reply = await callCandidates(
    { ...dependencies, modelLimits: { ...limits, total } },
    { step, route, build, deltas: NO_STREAM, signal },
  )
  // After a user's stop the hints become the arguments; after a shutdown another attempt follows.
  if ('stopped' in reply) assertStoppedByUser()
  await record(dependencies.store, step, reply)
  await endCharge(dependencies, step, NOTHING_FOLLOWS)
  return { written: 'answer' in reply ? readArguments(reply.answer) : null, log: step.log }
}

/** The charge ends with the activation: its step is charged by itself. */
const NOTHING_FOLLOWS = { type: 'activates', calls: [] } as const

function readArguments({ toolCalls }: ModelAnswer): string | null {
  return toolCalls.find(({ name }) => name === BOOTSTRAP_TOOL)?.input ?? null
}

/** Records the cost of the request, even if this attempt is interrupted later. */
async function record(store: Store, step: ModelStep, reply: Reply): Promise<void> {
  const { input, operation, log, now } = step
  const events = requestFacts(step, reply)
  await commit<unknown>(store, operation, async (tx) => {
    await keep(tx, operation, { state: 'started', detail: log.detail() })
    await recordFailures(tx, step)
    await appendEvents(tx, { threadId: input.threadId, events, now })
  })
}

function requestFacts(step: ModelStep, reply: Reply): readonly Fact[] {
  if ('answer' in reply) return [completionFact(step, reply, step.log.recordAnswer(reply.answer.usage))]
  if ('over' in reply) return []
  if (step.log.isOpen) return [failureFact(step, { kind: 'interrupted' }, 'none')]
  const last = step.log.failures.at(-1)
  return last === undefined ? [] : [failureFact(step, last.error, 'none')]
}

function bootstrapStep(dependencies: ActivityDependencies, { activation, log }: BootstrapInput): ModelStep {
  const { input, content, prompt, held } = activation
  const hooks = {
    input,
    content,
    ids: [],
    promptPath: [prompt.name],
    name: held.id,
    recordsMissing: false,
  }
  return {
    ...{ input, content, prompt, operation: held },
    // The answer does not become a message.
    messageId: randomUUID(),
    parentId: null,
    scope: stepScope(input),
    now: microseconds(input),
    startedAt: performance.now(),
    log: new RequestLog(log.detail()),
    hooks: stepBatch(dependencies, hooks),
    operations: [],
    isStep: false,
    resumed: true,
  }
}

const BOOTSTRAP_TOOL = 'bootstrap_immediate_subagent'

const INSTRUCTION = [
  'An agent is about to start. Write the arguments with which it starts.',
  `Call ${BOOTSTRAP_TOOL} once. Use the facts below; where they leave something open, choose a simple and safe value.`,
].join('\n')

interface Bootstrap {
  readonly subagent: SubagentContent
  readonly hints: Hints
}

/**
 * A request with one forced tool, about one subagent, without history and without variables other than the two hints.
 */
function bootstrapRequest(
  { input, content, prompt }: HeldActivation,
  { subagent, hints }: Bootstrap,
  modelName: string,
): BuiltRequest {
  const model = Object.hasOwn(content.models, modelName) ? content.models[modelName] : undefined
  if (model === undefined) throw new Error(`The plan has no model ${modelName}.`)
  const tool = bootstrapTool(subagent)
  // With some providers, models that reason cannot be forced to call a tool.
  const forced = { ...prompt, tools: [tool], reasoning: null }
  const settings = requestSettings({ input, prompt: forced, model })
  const text = requestText({ subagent, hints })
  return {
    options: {
      ...settings,
      ...(settings.tools === undefined ? {} : { toolChoice: { type: 'tool', toolName: BOOTSTRAP_TOOL } }),
      prompt: [
        { role: 'system', content: INSTRUCTION },
        { role: 'user', content: [{ type: 'text', text }] },
      ],
    },
    messages: 0,
    tools: settings.tools?.length ?? 0,
    dropped: 0,
    contextWindow: model.maxContextTokens,
    modelId: model.model,
    shows: [],
    ...contextParts([
      { kind: 'system', count: 1, tokens: textTokens(INSTRUCTION) },
      { kind: 'tools', count: 1, tokens: textTokens(JSON.stringify(tool)) },
      { kind: 'user', count: 1, tokens: textTokens(text) },
    ]),
    boundary: null,
    room: null,
    budgets: 'unread',
  }
}

function requestText({ subagent, hints }: Bootstrap): string {
  return [
    `The agent: ${subagent.title ?? subagent.agent}. ${subagent.description}`,
    ...(hints.name === null ? [] : [`Its name: ${hints.name}`]),
    ...(hints.description === null ? [] : [`What it is to do: ${hints.description}`]),
  ].join('\n')
}

function bootstrapTool(subagent: SubagentContent): ToolContent {
  const description = `Starts the agent. ${subagent.description}`
  return { name: BOOTSTRAP_TOOL, description, inputSchema: bootstrapSchema(subagent) }
}

/**
 * The schema of the call's arguments; for a call that creates an instance, of the arguments that are not known yet.
 */
function bootstrapSchema(subagent: SubagentContent): JSONSchema7 {
  const { resumable, inputSchema } = subagent
  if (resumable === null) return inputSchema
  const own = takesArguments(subagent)
  const properties: Record<string, JSONSchema7> = {
    name: { type: 'string', minLength: 1, description: 'What the instance is called.' },
    message: { type: 'string', minLength: 1, description: 'What the instance is to do.' },
    ...(own ? { arguments: embedSchema(inputSchema, '#/properties/arguments') } : {}),
  }
  const required = ['name', 'message', ...(own ? ['arguments'] : [])]
  return { type: 'object', properties, required, additionalProperties: false }
}

/** A subagent, and the schema of its arguments on this worker. */
interface Callee {
  readonly subagent: SubagentContent
  readonly schema: z.ZodObject | undefined
}

/** Values of the parent's variables. */
interface Hints {
  readonly name: string | null
  readonly description: string | null
}

/** The first message of a resumable instance without any hint. */
const FIRST_MESSAGE = 'Begin.'

/** The arguments without any hint; null if the subagent requires arguments. */
function plainArguments(callee: Callee): JsonObject | null {
  return completeArguments(callee, { name: null, message: null, own: {} })
}

/**
 * The hints themselves as arguments: in their mapped properties, or as name and message of a resumable instance.
 */
function deriveFromHints(callee: Callee, { name, description }: Hints): JsonObject | null {
  const { initAgentNameProperty, initUserMessageProperty } = callee.subagent
  const message = description ?? name
  const mapped = {
    ...(initAgentNameProperty === undefined || name === null ? {} : { [initAgentNameProperty]: name }),
    ...(initUserMessageProperty === undefined || message === null
      ? {}
      : { [initUserMessageProperty]: message }),
  }
  return (
    completeArguments(callee, { name, message, own: mapped }) ??
    completeArguments(callee, { name, message, own: {} })
  )
}

/** The arguments that a model wrote under `bootstrapSchema`; null if they do not match the schema. */
function parseWrittenArguments(callee: Callee, rawJson: string): JsonObject | null {
  const written = parseObject(rawJson)
  if (written === null) return null
  if (callee.subagent.resumable === null)
    return completeArguments(callee, { name: null, message: null, own: written })
  const { name, message, arguments: own = {} } = written
  if (!isText(name) || !isText(message) || !isObject(own)) return null
  return completeArguments(callee, { name, message, own })
}

interface Beginning {
  readonly name: string | null
  readonly message: string | null
  /** The part that the subagent's own schema describes. */
  readonly own: JsonObject
}

function completeArguments(
  { subagent, schema }: Callee,
  { name, message, own }: Beginning,
): JsonObject | null {
  if (!parseArguments(schema, JSON.stringify(own)).ok) return null
  const { agent, title, resumable, fanOut } = subagent
  if (resumable === null) return fanOut ? { items: [own] } : own
  return {
    agent,
    name: name ?? title ?? agent,
    message: message ?? FIRST_MESSAGE,
    attachments: [],
    ...(takesArguments(subagent) ? { arguments: own } : {}),
  }
}

function parseObject(rawJson: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(rawJson)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** All values within a parsed JSON object are JSON values. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
