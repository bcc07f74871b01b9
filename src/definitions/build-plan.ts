import { createHash } from 'node:crypto'

import type { Plan, RunCaps, SidePlan, ToolPlan } from '../protocol/plan.js'
import type { AgentDefinition, SessionToolBinding, SideConfig } from './agent.js'
import type { ListedTool } from './listed-tools.js'
import type { ModelDefinition } from './model.js'
import type { LifecycleContent, ModelContent, PlanContent, SessionToolContent } from './plan-content.js'
import type { Registry } from './registry.js'

import { LIMITS } from '../protocol/limits.js'
import { canonicalJson } from './canonical-json.js'
import { listedTools } from './listed-tools.js'
import { promptContent } from './prompt-content.js'
import { registered } from './registered.js'

const plans = new WeakMap<Registry, Map<string, PlanContent>>()

const DEFAULT_CAPS: RunCaps = {
  stepsPerRun: LIMITS.stepsPerRun,
  sessionTurns: LIMITS.sessionTurns,
  repeatedToolErrors: LIMITS.repeatedToolErrors,
}

/**
 * What a run of an agent needs of its definitions: control facts for the workflow, texts and schemas for the
 * activities. Equal definitions and caps give equal digests in every process.
 */
export function buildPlan(
  registry: Registry,
  agentName: string,
  caps: RunCaps = DEFAULT_CAPS,
): PlanContent | { readonly missing: string } {
  const agent = registry.agent(agentName)
  if (agent === undefined) return { missing: agentName }
  const built = plans.get(registry) ?? new Map<string, PlanContent>()
  plans.set(registry, built)
  const key = canonicalJson([agentName, caps])
  const content = built.get(key) ?? planContent(registry, agent, caps)
  built.set(key, content)
  return content
}

function planContent(registry: Registry, agent: AgentDefinition, caps: RunCaps): PlanContent {
  const sideB = agent.type === 'dual_ai' ? agent.sideB : undefined
  const sides = sideB === undefined ? [agent.sideA] : [agent.sideA, sideB]
  const prompts = new Map(
    sides.map(({ prompt }) => [prompt, registered(registry.prompt(prompt), `prompt '${prompt}'`)]),
  )
  const models = new Map(
    [...prompts.values()].map(({ model }) => [model, registered(registry.model(model), `model '${model}'`)]),
  )
  const plan = { ...agentFacts(agent, sideB), caps, sides: sidePlans(registry, agent, sideB) }
  const content = {
    prompts: mapped(prompts, (prompt) => promptContent(registry, prompt)),
    models: mapped(models, modelContent),
    lifecycle: { a: lifecycleContent(agent.sideA), b: sideB === undefined ? null : lifecycleContent(sideB) },
  }
  const digest = createHash('sha256')
    .update(canonicalJson({ plan, ...content }))
    .digest('hex')
    .slice(0, 32)
  return { plan: { digest, ...plan }, ...content }
}

function mapped<From, To>(
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

function sidePlans(registry: Registry, agent: AgentDefinition, sideB: SideConfig | undefined): Plan['sides'] {
  return { a: sidePlan(registry, agent.sideA), b: sideB === undefined ? null : sidePlan(registry, sideB) }
}

function sidePlan(registry: Registry, side: SideConfig): SidePlan {
  const prompt = registered(registry.prompt(side.prompt), `prompt '${side.prompt}'`)
  return {
    label: side.label ?? null,
    prompt: side.prompt,
    model: prompt.model,
    stopOnResponse: side.stopOnResponse ?? true,
    stopTool: side.stopTool ?? null,
    maxSteps: side.maxSteps ?? null,
    sessionStop: sessionTool(side.sessionStop)?.name ?? null,
    sessionFail: sessionTool(side.sessionFail)?.name ?? null,
    tools: Object.fromEntries(listedTools(registry, prompt).map((tool) => [tool.name, toolPlan(tool)])),
  }
}

function toolPlan(listed: ListedTool): ToolPlan {
  if (listed.kind === 'function')
    return { kind: 'function', timeout: listed.tool.timeout ?? LIMITS.toolTimeout }
  return { kind: 'subagent', agent: listed.agent.name, blocking: listed.config.blocking ?? true }
}

function lifecycleContent(side: SideConfig): LifecycleContent {
  return { sessionStop: sessionTool(side.sessionStop), sessionFail: sessionTool(side.sessionFail) }
}

function sessionTool(binding: SessionToolBinding | undefined): SessionToolContent | null {
  if (binding === undefined) return null
  return typeof binding === 'string' ? { name: binding } : { ...binding }
}

function modelContent(model: ModelDefinition): ModelContent {
  return {
    model: model.model,
    inputPrice: model.inputPrice ?? null,
    outputPrice: model.outputPrice ?? null,
    cachedPrice: model.cachedPrice ?? null,
    supportsImages: model.capabilities?.supportsImages ?? true,
    supportsToolCalls: model.capabilities?.supportsToolCalls ?? true,
    maxContextTokens: model.capabilities?.maxContextTokens ?? null,
  }
}
