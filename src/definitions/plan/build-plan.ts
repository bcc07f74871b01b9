import { createHash } from 'node:crypto'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Plan, PromptPlan, RunAhead, RunCaps, SidePlan, ToolPlan } from '../../protocol/plan.js'
import type { AgentDefinition, SessionToolBinding, SideConfig } from '../agent.js'
import { requireDefinition } from '../known-definitions.js'
import type { Registry } from '../known-definitions.js'
import type { ModelCapabilities, ModelDefinition } from '../model.js'
import { definedPrices } from '../prices/defined-prices.js'
import type { PriceList, Prices } from '../prices/defined-prices.js'
import type { PromptDefinition } from '../prompt.js'
import { toInputSchema } from './argument-schema.js'
import { LIFECYCLE_TOOLS } from './lifecycle-tools.js'
import { isResumable, listTools } from './listed-tools.js'
import type { ListedTool } from './listed-tools.js'
import type { LifecycleContent, ModelContent, PlanContent, SessionToolContent } from './plan-content.js'
import { promptContent } from './prompt-content.js'

const plans = new WeakMap<Registry, WeakMap<PriceList, Map<string, PlanContent>>>()

const CAPS = ['stepsPerRun', 'sessionTurns', 'repeatedToolErrors', 'toolIterations'] as const

/**
 * The hard caps of a worker: its own limits, and the defaults for those that it does not set.
 * @throws ConfigError with each limit that is no whole number from 1
 */
export function runCaps(
  limits: Partial<Omit<RunCaps, 'stepsPerActivity'>> = {},
  runAhead: RunAhead = false,
): RunCaps {
  const problems = CAPS.flatMap((name) => {
    const value = limits[name]
    if (value === undefined || (Number.isInteger(value) && value >= 1)) return []
    return [`Expected limits.${name} to be a whole number from 1, got ${String(value)}.`]
  })
  if (typeof runAhead !== 'boolean' && !(Number.isInteger(runAhead) && runAhead >= 2))
    problems.push(`Expected runAhead to be true, false, or a whole number from 2, got ${String(runAhead)}.`)
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    ...stepsAhead(runAhead),
    ...(limits.toolIterations === undefined ? {} : { toolIterations: limits.toolIterations }),
    stepsPerRun: limits.stepsPerRun ?? LIMITS.stepsPerRun,
    sessionTurns: limits.sessionTurns ?? LIMITS.sessionTurns,
    repeatedToolErrors: limits.repeatedToolErrors ?? LIMITS.repeatedToolErrors,
  }
}

function stepsAhead(runAhead: RunAhead): Pick<RunCaps, 'stepsPerActivity'> {
  if (runAhead === false) return {}
  return { stepsPerActivity: runAhead === true ? LIMITS.stepsPerActivity : runAhead }
}

/** The caps of an agent, which may say by itself whether it runs ahead, and lower the number of tool iterations. */
function capsOf(
  { runAhead, maxToolIterations }: AgentDefinition,
  { stepsPerActivity, toolIterations, ...caps }: RunCaps,
): RunCaps {
  const most = Math.min(toolIterations ?? Infinity, maxToolIterations ?? Infinity)
  const capped = most === Infinity ? caps : { ...caps, toolIterations: most }
  if (runAhead !== undefined) return { ...capped, ...stepsAhead(runAhead) }
  return stepsPerActivity === undefined ? capped : { ...capped, stepsPerActivity }
}

/** What a worker adds to its definitions. */
interface PlanSettings {
  readonly caps?: RunCaps
  /** @default the prices of definitions alone, so that no provider is asked for a model */
  readonly prices?: PriceList | undefined
}

/**
 * The part of an agent's definitions that its run needs: control facts for the workflow, texts and schemas for the
 * activities. Equal definitions, caps and prices have equal digests in every process.
 */
export function buildPlan(
  registry: Registry,
  agentName: string,
  { caps = runCaps(), prices = definedPrices }: PlanSettings = {},
): PlanContent | { readonly missing: string } {
  const agent = registry.agent(agentName)
  if (agent === undefined) return { missing: agentName }
  const byPrices = plans.get(registry) ?? new WeakMap<PriceList, Map<string, PlanContent>>()
  const built = byPrices.get(prices) ?? new Map<string, PlanContent>()
  plans.set(registry, byPrices.set(prices, built))
  const key = canonicalJson([agentName, caps])
  const content = built.get(key) ?? planContent(registry, agent, { caps, prices })
  built.set(key, content)
  return content
}

function planContent(
  registry: Registry,
  agent: AgentDefinition,
  { caps, prices }: { readonly caps: RunCaps; readonly prices: PriceList },
): PlanContent {
  const sideB = agent.type === 'dual_ai' ? agent.sideB : undefined
  const sides = sideB === undefined ? [agent.sideA] : [agent.sideA, sideB]
  const prompts = reachablePrompts(
    registry,
    sides.map(({ prompt }) => prompt),
  )
  const plan = {
    ...agentFacts(agent, sideB),
    caps: capsOf(agent, caps),
    sides: { a: sidePlan(agent.sideA), b: sideB === undefined ? null : sidePlan(sideB) },
    prompts: mapValues(prompts, (prompt) => promptPlan(registry, prompt)),
  }
  const content = {
    prompts: mapValues(prompts, (prompt) => promptContent(registry, prompt, agent)),
    models: mapValues(modelsOf(registry, [...prompts.values()]), (model) =>
      modelContent(model, prices(model)),
    ),
    ...(agent.providerPatience === undefined ? {} : { providerPatience: agent.providerPatience }),
    ...(agent.permissions === undefined ? {} : { permissions: agent.permissions }),
    ...(agent.budget === undefined ? {} : { budget: agent.budget }),
    ...(agent.output === undefined ? {} : { output: toInputSchema(agent.output) }),
    env: agent.env ?? {},
    lifecycle: { a: lifecycleContent(agent.sideA), b: sideB === undefined ? null : lifecycleContent(sideB) },
  }
  const digest = createHash('sha256')
    .update(canonicalJson({ plan, ...content }))
    .digest('hex')
    .slice(0, 32)
  return { plan: { digest, ...plan }, ...content }
}

/** The models of these prompts, and their fallbacks. */
function modelsOf(
  registry: Registry,
  prompts: readonly PromptDefinition[],
): ReadonlyMap<string, ModelDefinition> {
  const model = (name: string): ModelDefinition => requireDefinition(registry.model(name), `model '${name}'`)
  const named = prompts.flatMap(({ model: own, compaction }) =>
    [own, ...(compaction?.model === undefined ? [] : [compaction.model])].map(model),
  )
  const all = [...named, ...named.flatMap(({ fallbacks = [] }) => fallbacks.map(model))]
  return new Map(all.map((definition) => [definition.name, definition]))
}

function mapValues<From, To>(
  map: ReadonlyMap<string, From>,
  to: (value: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries([...map].map(([name, value]) => [name, to(value)]))
}

function agentFacts(
  agent: AgentDefinition,
  sideB: SideConfig | undefined,
): Pick<Plan, 'agent' | 'type' | 'maxSessionTurns'> {
  // A conversation with a person has no session that could end.
  const maxSessionTurns = sideB === undefined ? null : (agent.maxSessionTurns ?? null)
  return { agent: agent.name, type: agent.type ?? 'ai_human', maxSessionTurns }
}

function sidePlan(side: SideConfig): SidePlan {
  return {
    label: side.label ?? null,
    prompt: side.prompt,
    stopOnResponse: side.stopOnResponse ?? true,
    stopTool: side.stopTool ?? null,
    maxSteps: side.maxSteps ?? null,
    sessionStop: sessionTool(side.sessionStop)?.name ?? null,
    sessionFail: sessionTool(side.sessionFail)?.name ?? null,
  }
}

/** A resumable subagent has no tool of its own: all of them share the lifecycle tools. */
function promptPlan(registry: Registry, prompt: PromptDefinition): PromptPlan {
  const listed = listTools(registry, prompt)
  const called = listed.filter((tool) => !isResumable(tool))
  const tools = Object.fromEntries(called.map((tool) => [tool.name, toolPlan(tool)]))
  const lifecycle = called.length === listed.length ? {} : LIFECYCLE_PLANS
  const { taskQueue } = requireDefinition(registry.model(prompt.model), `model '${prompt.model}'`)
  return {
    model: prompt.model,
    ...(taskQueue === undefined ? {} : { taskQueue }),
    ...(prompt.continueCutAnswers === undefined ? {} : { continueCutAnswers: prompt.continueCutAnswers }),
    tools: { ...tools, ...lifecycle },
  }
}

const LIFECYCLE_PLANS = {
  [LIFECYCLE_TOOLS.create]: { kind: 'subagent_create' },
  [LIFECYCLE_TOOLS.message]: { kind: 'subagent_message' },
} as const satisfies Readonly<Record<string, ToolPlan>>

/** The control facts of a tool for the workflow; for a subagent, those of a call by its own name. */
export function toolPlan(listed: ListedTool): ToolPlan {
  switch (listed.kind) {
    case 'function': {
      const { timeout = LIMITS.toolTimeout, taskQueue } = listed.tool
      return { kind: 'function', timeout, ...(taskQueue === undefined ? {} : { taskQueue }) }
    }
    case 'prompt':
      return { kind: 'prompt', prompt: listed.name }
    case 'hand_off':
      return { kind: 'hand_off', agent: listed.agent.name }
    case 'subagent':
      return { kind: 'subagent', agent: listed.agent.name }
  }
}

function lifecycleContent(side: SideConfig): LifecycleContent {
  return {
    stopTool: side.stopTool ?? null,
    stopToolResponseProperty: side.stopToolResponseProperty ?? null,
    sessionStop: sessionTool(side.sessionStop),
    sessionFail: sessionTool(side.sessionFail),
    sessionStatus: sessionTool(side.sessionStatus),
  }
}

function sessionTool(binding: SessionToolBinding | undefined): SessionToolContent | null {
  if (binding === undefined) return null
  return typeof binding === 'string' ? { name: binding } : { ...binding }
}

function modelContent(model: ModelDefinition, prices: Prices): ModelContent {
  return {
    model: model.model,
    ...prices,
    supportsImages: model.capabilities?.supportsImages ?? true,
    supportsDocuments: model.capabilities?.supportsDocuments ?? false,
    supportsAudio: model.capabilities?.supportsAudio ?? false,
    supportsToolCalls: model.capabilities?.supportsToolCalls ?? true,
    ...(model.capabilities?.supportsJsonMode === false && { supportsJsonMode: false as const }),
    maxContextTokens: model.capabilities?.maxContextTokens ?? null,
    maxOutputTokens: model.capabilities?.maxOutputTokens ?? null,
    reasoningLevels: wordsOf(model.capabilities?.reasoningLevels),
    ...(model.providerOptions === undefined ? {} : { providerOptions: model.providerOptions }),
    fallbacks: model.fallbacks ?? [],
  }
}

/** The provider's words for levels, without levels that have none. */
function wordsOf(levels: ModelCapabilities['reasoningLevels'] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(levels).flatMap(([level, word]) => (word === null ? [] : [[level, word] as const])),
  )
}

/** JSON with the keys of every object sorted, so that equal values have equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** These prompts and all prompts that they reach as tools, each once. */
function reachablePrompts(
  registry: Registry,
  names: readonly string[],
): ReadonlyMap<string, PromptDefinition> {
  const reached = new Map<string, PromptDefinition>()
  const waiting = [...names]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (reached.has(name)) continue
    const prompt = requireDefinition(registry.prompt(name), `prompt '${name}'`)
    reached.set(name, prompt)
    for (const listed of listTools(registry, prompt)) if (listed.kind === 'prompt') waiting.push(listed.name)
  }
  return reached
}
