import type { AgentDefinition } from './agent.js'
import type { KnownDefinitions } from './known-definitions.js'
import type { PromptDefinition } from './prompt.js'
import type { SubagentToolConfig } from './subagent-tool.js'

import { argumentSchemaProblems } from './argument-schema.js'
import { notSupportedYet } from './field-hints.js'
import { propertyProblem } from './property-problem.js'

/** Says what a prompt refers to that is not there or cannot be used so. */
export function promptProblems(prompt: PromptDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `prompt '${prompt.name}'`
  const problems: string[] = []
  if (!known.names.models.has(prompt.model)) {
    problems.push(`${owner} uses the model '${prompt.model}', which is not registered`)
  }
  problems.push(...includeProblems(owner, prompt, known))
  if (prompt.requiredSchema !== undefined) {
    problems.push(...argumentSchemaProblems(prompt.requiredSchema, `${owner}: requiredSchema`))
  }
  const listed = new Set<string>()
  for (const entry of prompt.tools ?? []) {
    const name = typeof entry === 'string' ? entry : entry.name
    if (listed.has(name)) problems.push(`${owner} lists the tool '${name}' twice`)
    else problems.push(...entryProblems(owner, entry, known))
    listed.add(name)
  }
  return problems
}

function includeProblems(
  owner: string,
  prompt: PromptDefinition,
  known: KnownDefinitions,
): readonly string[] {
  const missing = includes(prompt).filter((name) => !known.names.prompts.has(name))
  const circle = includeCircle(prompt.name, [prompt.name], known)
  return [
    ...missing.map((name) => `${owner} includes the prompt '${name}', which is not registered`),
    ...(circle === undefined ? [] : [`${owner} includes itself: ${circle.join(' > ')}`]),
  ]
}

function includes(prompt: PromptDefinition): readonly string[] {
  if (typeof prompt.prompt === 'string') return []
  return prompt.prompt.flatMap((part) => (part.type === 'include' ? [part.prompt] : []))
}

/** The way from a prompt back to itself. Circles that do not touch it belong to the prompts on them. */
function includeCircle(
  start: string,
  path: readonly string[],
  known: KnownDefinitions,
): readonly string[] | undefined {
  const last = known.prompts.get(path.at(-1) ?? start)
  for (const name of last === undefined ? [] : includes(last)) {
    if (name === start) return [...path, name]
    const circle = path.includes(name) ? undefined : includeCircle(start, [...path, name], known)
    if (circle !== undefined) return circle
  }
  return undefined
}

function entryProblems(
  owner: string,
  entry: string | SubagentToolConfig,
  known: KnownDefinitions,
): readonly string[] {
  const name = typeof entry === 'string' ? entry : entry.name
  const { names } = known
  if (typeof entry === 'string') {
    if (names.tools.has(name)) return []
    if (names.prompts.has(name))
      return [`${owner} ${notSupportedYet(`tools: the prompt '${name}' as a tool`)}`]
    if (/^(provider|mcp):/.test(name)) return [`${owner} ${notSupportedYet(`tools: '${name}'`)}`]
  }
  if (!names.agents.has(name)) return [`${owner} lists the tool '${name}', which is not registered`]
  const agent = known.agents.get(name)
  return agent === undefined ? [] : subagentProblems(owner, entry, agent, known)
}

function subagentProblems(
  owner: string,
  entry: string | SubagentToolConfig,
  agent: AgentDefinition,
  known: KnownDefinitions,
): readonly string[] {
  if (agent.exposeAsTool !== true) {
    return [`${owner} lists the agent '${agent.name}': set exposeAsTool on it to make it callable`]
  }
  if (agent.type !== 'dual_ai') {
    if (typeof entry === 'string') return [`${owner} ${notSupportedYet(`tools: handoff to '${agent.name}'`)}`]
    return [`${owner} lists the agent '${agent.name}' as a subagent: it has to be of type 'dual_ai'`]
  }
  const prompt = known.prompts.get(agent.sideA.prompt)
  if (typeof entry === 'string' || prompt === undefined) return []
  const uses = [
    ['initUserMessageProperty', 'text'],
    ['initAttachmentsProperty', 'paths'],
    ['initAgentNameProperty', 'text'],
  ] as const
  return uses.flatMap(([field, use]) => {
    const property = entry[field]
    const problem = property === undefined ? undefined : propertyProblem(prompt.requiredSchema, property, use)
    if (problem === undefined) return []
    return [`${owner}: ${field} of '${agent.name}': of requiredSchema of prompt '${prompt.name}', ${problem}`]
  })
}
