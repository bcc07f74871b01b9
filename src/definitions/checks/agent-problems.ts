import { suggestName } from '../../protocol/values.js'
import { SESSION_TOOLS } from '../agent.js'
import type { AgentDefinition, SessionToolBinding, SideConfig } from '../agent.js'
import type { Findings, KnownDefinitions } from '../known-definitions.js'
import { entryName, hookListProblems } from './names.js'
import { argumentSchemaProblems, hasArgument, propertyProblem } from '../plan/argument-schema.js'

/** Checks one agent against the definitions of its registry. */
export function checkAgent(agent: AgentDefinition, known: KnownDefinitions): Findings {
  return {
    problems: agentProblems(agent, known),
    warnings: [...agentWarnings(agent), ...memoryWarnings(agent, known)],
  }
}

/** Lists the wrong references of an agent. */
function agentProblems(agent: AgentDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `agent '${agent.name}'`
  const problems = sideProblems(`${owner}: sideA`, agent.sideA, known)
  // Side B of an ai_human agent is not used, which is a warning.
  if (agent.type === 'dual_ai') {
    if (agent.sideB === undefined) problems.push(`${owner} is of type 'dual_ai', which needs a sideB`)
    else problems.push(...sideProblems(`${owner}: sideB`, agent.sideB, known))
  }
  problems.push(...hookListProblems(owner, agent.hooks ?? [], known), ...outputProblems(owner, agent))
  return problems
}

function outputProblems(owner: string, { type, sideA, output }: AgentDefinition): readonly string[] {
  if (output === undefined) return []
  if (type === 'dual_ai')
    return [`${owner} is of type 'dual_ai', whose session tools carry its result: leave output out`]
  if (sideA.stopTool !== undefined || sideA.stopOnResponse === false)
    return [
      `${owner} has an output, which is the answer that ends a run: leave stopTool and stopOnResponse out`,
    ]
  return argumentSchemaProblems(output, `${owner}: output`)
}

/** The description of an agent for the model that calls it; empty if its author wrote none. */
export function descriptionOfAgent({ toolDescription, description }: AgentDefinition): string {
  const given = [toolDescription, description].find((text) => (text ?? '').trim() !== '')
  return given ?? ''
}

/** Lists things in an agent that are allowed but probably mistakes. */
function agentWarnings(agent: AgentDefinition): readonly string[] {
  const owner = `agent '${agent.name}'`
  const oldNames = (['sideA', 'sideB'] as const).flatMap((side) =>
    SESSION_TOOLS.filter(([, oldName]) => agent[side]?.[oldName] !== undefined).map(
      ([newName, oldName]) => `${owner} uses the old name ${side}.${oldName}: write ${newName}`,
    ),
  )
  const isSilent = agent.exposeAsTool === true && descriptionOfAgent(agent) === ''
  const silent = isSilent
    ? [
        `${owner} has exposeAsTool and no toolDescription or description: the calling model reads its name only`,
      ]
    : []
  return [...oldNames, ...silent, ...typeWarnings(owner, agent)]
}

/** Warns of an agent that talks to people and forgets what was said, unless its prompt says so. */
function memoryWarnings({ name, type, sideA }: AgentDefinition, known: KnownDefinitions): readonly string[] {
  const prompt = known.prompts.get(sideA.prompt)
  if (type === 'dual_ai' || prompt === undefined || prompt.includeChat !== undefined) return []
  return [
    `agent '${name}' forgets the conversation with each run: prompt '${prompt.name}' has no includeChat. Write includeChat: true, and includePastTools: true for earlier calls, or includeChat: false if that is meant`,
  ]
}

function typeWarnings(owner: string, agent: AgentDefinition): readonly string[] {
  if (agent.type === 'dual_ai') {
    if (agent.maxSessionTurns !== undefined) return []
    return [`${owner} is of type 'dual_ai' without maxSessionTurns: only the hard cap bounds its session`]
  }
  const whys = { sideB: '', maxSessionTurns: ': each of its runs is one turn' } as const
  return (['sideB', 'maxSessionTurns'] as const)
    .filter((field) => agent[field] !== undefined)
    .map((field) => `${owner} is of type 'ai_human', which has no use for ${field}${whys[field]}`)
}

function sideProblems(owner: string, side: SideConfig, known: KnownDefinitions): string[] {
  const problems: string[] = []
  if (!known.names.prompts.has(side.prompt)) {
    problems.push(
      `${owner} uses the prompt '${side.prompt}', which is not registered${suggestName(side.prompt, known.names.prompts)}`,
    )
  }
  problems.push(...stopToolProblems(owner, side, known))
  for (const [newName, oldName] of SESSION_TOOLS) {
    if (side[newName] !== undefined && side[oldName] !== undefined) {
      problems.push(`${owner} has both ${newName} and its old name ${oldName}: leave ${oldName} out`)
    }
    const field = side[newName] === undefined ? oldName : newName
    const binding = side[field]
    if (binding !== undefined) problems.push(...bindingProblems(`${owner}.${field}`, binding, side, known))
  }
  const stop = side.sessionStop ?? side.endSessionTool
  const fail = side.sessionFail ?? side.failSessionTool
  if (stop !== undefined && fail !== undefined && entryName(stop) === entryName(fail)) {
    problems.push(`${owner} names one tool, '${entryName(stop)}', for both sessionStop and sessionFail`)
  }
  return problems
}

function stopToolProblems(owner: string, side: SideConfig, known: KnownDefinitions): readonly string[] {
  const { stopTool, stopToolResponseProperty: property } = side
  const problem = `${owner}.stopToolResponseProperty`
  if (stopTool === undefined) {
    return property === undefined ? [] : [`${problem} needs a stopTool, whose outcome it is in`]
  }
  const problems = lifecycleToolProblems(`${owner}.stopTool`, stopTool, side, known)
  const args = known.tools.get(stopTool)?.args
  // A property that is no argument may be in the result, which has no schema.
  if (property === undefined || args === undefined || !hasArgument(args, property)) return problems
  const wrong = propertyProblem(args, property, 'text')
  return wrong === undefined ? problems : [...problems, `${problem}: of tool '${stopTool}', ${wrong}`]
}

function bindingProblems(
  owner: string,
  binding: SessionToolBinding,
  side: SideConfig,
  known: KnownDefinitions,
): readonly string[] {
  const problems = lifecycleToolProblems(owner, entryName(binding), side, known)
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
  if (!known.names.tools.has(tool))
    return [
      `${owner} names the tool '${tool}', which is not registered${suggestName(tool, known.names.tools)}`,
    ]
  const prompt = known.prompts.get(side.prompt)
  if (prompt === undefined || (prompt.tools ?? []).some((entry) => entryName(entry) === tool)) return []
  return [
    `${owner} names the tool '${tool}': list it in the tools of prompt '${prompt.name}' to make it callable`,
  ]
}
