import type { AgentDefinition } from './agent.js'
import { entryName } from './entry-name.js'
import { notSupportedYet } from './field-hints.js'
import { KIND_WORDS } from './known-definitions.js'
import type { KnownDefinitions } from './known-definitions.js'
import { meant } from './near-name.js'
import type { PromptDefinition, SubpromptConfig, ToolEntry } from './prompt.js'
import { propertyProblem } from './property-problem.js'
import type { PropertyUse } from './property-problem.js'
import type { SubagentToolConfig } from './subagent-tool.js'

/** All that an entry may have, whatever its name stands for. */
type EntryObject = SubpromptConfig & SubagentToolConfig

const INIT_FIELDS = ['initUserMessageProperty', 'initAttachmentsProperty'] as const
const SUBAGENT_FIELDS = [
  'blocking',
  'timeout',
  'resumable',
  'immediate',
  'optional',
  'fanOut',
  'initAgentNameProperty',
] as const

/** Which fields each kind of callable has a use for. */
const FIELDS = {
  function: [],
  prompt: ['includeTextResponse', 'includeToolCalls', 'includeErrors', ...INIT_FIELDS],
  handoff: INIT_FIELDS,
  subagent: [...SUBAGENT_FIELDS, ...INIT_FIELDS],
} as const satisfies Readonly<Record<string, readonly (keyof EntryObject)[]>>

const BOUND_PROPERTIES = {
  initUserMessageProperty: 'text',
  initAttachmentsProperty: 'paths',
  initAgentNameProperty: 'text',
} as const satisfies Partial<Record<keyof EntryObject, PropertyUse>>

/** Says why an entry of a prompt's tools cannot be called so. A name is a tool before a prompt before an agent. */
export function toolEntryProblems(
  owner: string,
  entry: ToolEntry,
  known: KnownDefinitions,
): readonly string[] {
  const name = entryName(entry)
  const { names } = known
  const config: EntryObject = typeof entry === 'string' ? { name } : entry
  if (names.tools.has(name)) return uselessFields(owner, config, 'function')
  if (names.prompts.has(name)) {
    return [
      ...uselessFields(owner, config, 'prompt'),
      ...boundPropertyProblems(owner, config, known.prompts.get(name)),
    ]
  }
  if (names.agents.has(name)) {
    const agent = known.agents.get(name)
    return agent === undefined ? [] : agentEntryProblems(owner, config, agent, known)
  }
  if (/^(provider|mcp):/.test(name)) return [`${owner} ${notSupportedYet(`tools: '${name}'`)}`]
  const callable = [...names.tools, ...names.prompts, ...names.agents]
  return [`${owner} lists the tool '${name}', which is not registered${meant(name, callable)}`]
}

/** Says what an entry may stand for besides what it does stand for. */
export function toolEntryWarnings(
  owner: string,
  entry: ToolEntry,
  known: KnownDefinitions,
): readonly string[] {
  const name = entryName(entry)
  const kinds = (['tools', 'prompts', 'agents'] as const).filter((kind) => known.names[kind].has(name))
  const [called, ...others] = kinds.map((kind) => KIND_WORDS[kind])
  if (called === undefined || others.length === 0) return []
  return [
    `${owner} lists '${name}', which calls the ${called} and not the ${others.join(' or the ')} '${name}'`,
  ]
}

function agentEntryProblems(
  owner: string,
  config: EntryObject,
  agent: AgentDefinition,
  known: KnownDefinitions,
): readonly string[] {
  if (agent.exposeAsTool !== true) {
    return [`${owner} lists the agent '${agent.name}': set exposeAsTool on it to make it callable`]
  }
  const isHandoff = agent.type !== 'dual_ai'
  if (isHandoff && SUBAGENT_FIELDS.some((field) => config[field] !== undefined)) {
    return [`${owner} lists the agent '${agent.name}' as a subagent: it has to be of type 'dual_ai'`]
  }
  const entryPrompt = known.prompts.get(agent.sideA.prompt)
  return [
    ...uselessFields(owner, config, isHandoff ? 'handoff' : 'subagent'),
    ...combinationProblems(`${owner} lists the subagent '${agent.name}'`, config),
    ...boundPropertyProblems(owner, config, entryPrompt),
  ]
}

/** Fields that are right alone, but not together. */
function combinationProblems(
  entry: string,
  { blocking, timeout, resumable, fanOut }: EntryObject,
): readonly string[] {
  const isResumable = resumable !== undefined && resumable !== false
  return [
    ...(timeout !== undefined && blocking === false
      ? [`${entry} with a timeout, for which a call that does not wait has no use: leave out blocking: false`]
      : []),
    ...(fanOut === true && isResumable
      ? [
          `${entry} with fanOut and resumable: instances that stay are created one by one, leave one of them out`,
        ]
      : []),
  ]
}

function uselessFields(
  owner: string,
  { name, ...fields }: EntryObject,
  kind: keyof typeof FIELDS,
): readonly string[] {
  const useful: readonly string[] = FIELDS[kind]
  return Object.entries(fields)
    .filter(([field, value]) => value !== undefined && !useful.includes(field))
    .map(([field]) => `${owner} lists the ${kind} '${name}' with ${field}, for which a ${kind} has no use`)
}

/** `prompt`: the one whose schema the arguments of the call have. */
function boundPropertyProblems(
  owner: string,
  config: EntryObject,
  prompt: PromptDefinition | undefined,
): readonly string[] {
  if (prompt === undefined) return []
  return Object.entries(BOUND_PROPERTIES).flatMap(([field, use]) => {
    const property = config[field as keyof typeof BOUND_PROPERTIES]
    const problem = property === undefined ? undefined : propertyProblem(prompt.requiredSchema, property, use)
    if (problem === undefined) return []
    return [
      `${owner}: ${field} of '${config.name}': of requiredSchema of prompt '${prompt.name}', ${problem}`,
    ]
  })
}
