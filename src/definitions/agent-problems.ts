import type { AgentDefinition, SessionToolBinding, SideConfig } from './agent.js'
import type { KnownDefinitions } from './known-definitions.js'

import { propertyProblem } from './property-problem.js'

/** Says what an agent refers to that is not there or cannot be used so. */
export function agentProblems(agent: AgentDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `agent '${agent.name}'`
  const problems = sideProblems(`${owner}: sideA`, agent.sideA, known)
  // Side B of an ai_human agent is not used, which is a warning.
  if (agent.type === 'dual_ai') {
    if (agent.sideB === undefined) problems.push(`${owner} is of type 'dual_ai', which needs a sideB`)
    else problems.push(...sideProblems(`${owner}: sideB`, agent.sideB, known))
  }
  if (agent.exposeAsTool === true && (agent.toolDescription ?? '').trim() === '') {
    problems.push(`${owner} has exposeAsTool, which needs a toolDescription for the calling model`)
  }
  return problems
}

/** Says what is allowed in an agent but probably not meant. */
export function agentWarnings(agent: AgentDefinition): readonly string[] {
  const owner = `agent '${agent.name}'`
  if (agent.type === 'dual_ai') {
    if (agent.maxSessionTurns !== undefined) return []
    return [`${owner} is of type 'dual_ai' without maxSessionTurns: only the hard cap bounds its session`]
  }
  return (['sideB', 'maxSessionTurns'] as const)
    .filter((field) => agent[field] !== undefined)
    .map((field) => `${owner} is of type 'ai_human', which has no use for ${field}`)
}

function sideProblems(owner: string, side: SideConfig, known: KnownDefinitions): string[] {
  const problems: string[] = []
  if (!known.names.prompts.has(side.prompt)) {
    problems.push(`${owner} uses the prompt '${side.prompt}', which is not registered`)
  }
  if (side.stopTool !== undefined) {
    problems.push(...lifecycleToolProblems(`${owner}.stopTool`, side.stopTool, side, known))
  }
  for (const field of ['sessionStop', 'sessionFail'] as const) {
    const binding = side[field]
    if (binding !== undefined) problems.push(...bindingProblems(`${owner}.${field}`, binding, side, known))
  }
  const { sessionStop, sessionFail } = side
  if (sessionStop !== undefined && sessionFail !== undefined && nameOf(sessionStop) === nameOf(sessionFail)) {
    problems.push(`${owner} names one tool, '${nameOf(sessionStop)}', for both sessionStop and sessionFail`)
  }
  return problems
}

function bindingProblems(
  owner: string,
  binding: SessionToolBinding,
  side: SideConfig,
  known: KnownDefinitions,
): readonly string[] {
  const problems = lifecycleToolProblems(owner, nameOf(binding), side, known)
  if (typeof binding === 'string') return problems
  const tool = known.tools.get(binding.name)
  if (tool === undefined) return problems
  const uses = [
    ['messageProperty', 'text'],
    ['attachmentsProperty', 'paths'],
  ] as const
  for (const [field, use] of uses) {
    const property = binding[field]
    const problem = property === undefined ? undefined : propertyProblem(tool.args, property, use)
    if (problem !== undefined) problems.push(`${owner}.${field}: of tool '${binding.name}', ${problem}`)
  }
  return problems
}

function lifecycleToolProblems(
  owner: string,
  tool: string,
  side: SideConfig,
  known: KnownDefinitions,
): string[] {
  if (!known.names.tools.has(tool)) return [`${owner} names the tool '${tool}', which is not registered`]
  const prompt = known.prompts.get(side.prompt)
  if (prompt === undefined || (prompt.tools ?? []).includes(tool)) return []
  return [
    `${owner} names the tool '${tool}': list it in the tools of prompt '${prompt.name}' to make it callable`,
  ]
}

function nameOf(binding: SessionToolBinding): string {
  return typeof binding === 'string' ? binding : binding.name
}
