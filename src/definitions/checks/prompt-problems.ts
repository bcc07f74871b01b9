import type { AgentDefinition } from '../agent.js'
import { KIND_WORDS } from '../known-definitions.js'
import type { Findings, KnownDefinitions } from '../known-definitions.js'
import { argumentSchemaProblems, propertyProblem } from '../plan/argument-schema.js'
import { listIncludedPrompts } from '../prompt.js'
import { subagentArguments } from '../plan/tool-arguments.js'
import type { PromptDefinition, SubpromptConfig, ToolEntry } from '../prompt.js'
import type { SubagentToolConfig } from '../subagent-tool.js'
import { isObject, suggestName } from '../../protocol/values.js'
import { findRepeated, notSupportedYet } from './hints.js'
import { entryName, hookListProblems } from './names.js'

/** Checks one prompt against the definitions of its registry. */
export function checkPrompt(prompt: PromptDefinition, known: KnownDefinitions): Findings {
  return { problems: promptProblems(prompt, known), warnings: promptWarnings(prompt, known) }
}

/** Lists the wrong references of a prompt. */
function promptProblems(prompt: PromptDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `prompt '${prompt.name}'`
  const problems: string[] = []
  for (const model of [prompt.model, prompt.compaction?.model]) {
    if (model === undefined || known.names.models.has(model)) continue
    problems.push(
      `${owner} uses the model '${model}', which is not registered${suggestName(model, known.names.models)}`,
    )
  }
  problems.push(...includeProblems(owner, prompt, known))
  if (prompt.requiredSchema !== undefined) {
    problems.push(...argumentSchemaProblems(prompt.requiredSchema, `${owner}: requiredSchema`))
  }
  const listed = new Set<string>()
  for (const entry of prompt.tools ?? []) {
    const name = entryName(entry)
    if (listed.has(name)) problems.push(`${owner} lists the tool '${name}' twice`)
    else problems.push(...toolEntryProblems(owner, entry, known))
    listed.add(name)
  }
  for (const [name, tool] of Object.entries(prompt.providerTools ?? {})) {
    if (listed.has(name)) problems.push(`${owner} lists the tool '${name}' twice, also in providerTools`)
    problems.push(...providerToolProblems(`${owner}: providerTools: '${name}'`, tool))
  }
  for (const name of findRepeated((prompt.toolSources ?? []).map((source) => source.name)))
    problems.push(`${owner} lists the source '${name}' twice`)
  problems.push(...hookListProblems(owner, prompt.hooks ?? [], known))
  return problems
}

function isJson(value: object): boolean {
  try {
    return typeof JSON.stringify(value) === 'string'
  } catch {
    return false
  }
}

const PROVIDER_ID = /^[^.\s]+\.[^\s]+$/

function providerToolProblems(owner: string, tool: unknown): readonly string[] {
  if (!isObject(tool) || tool['type'] !== 'provider' || tool['isProviderExecuted'] !== true)
    return [
      `${owner}: expected a tool that a provider runs itself, such as openai.tools.webSearch(), got another`,
    ]
  const { id, args = {} } = tool
  return [
    ...(typeof id === 'string' && PROVIDER_ID.test(id)
      ? []
      : [`${owner}: expected an id such as "openai.web_search", got another`]),
    ...(isObject(args) && isJson(args) ? [] : [`${owner}: expected args as an object of JSON, got another`]),
  ]
}

/** Lists things in a prompt that are allowed but probably mistakes. */
function promptWarnings(prompt: PromptDefinition, known: KnownDefinitions): readonly string[] {
  const owner = `prompt '${prompt.name}'`
  return (prompt.tools ?? []).flatMap((entry) => [
    ...toolEntryWarnings(owner, entry, known),
    ...handoffWarnings(owner, entry, known),
    ...immediateWarnings(owner, entry, known),
  ])
}

function includeProblems(
  owner: string,
  prompt: PromptDefinition,
  known: KnownDefinitions,
): readonly string[] {
  const missing = listIncludedPrompts(prompt).filter((name) => !known.names.prompts.has(name))
  const circle = includeCircle(prompt.name, [prompt.name], known)
  return [
    ...missing.map(
      (name) =>
        `${owner} includes the prompt '${name}', which is not registered${suggestName(name, known.names.prompts)}`,
    ),
    ...(circle === undefined ? [] : [`${owner} includes itself: ${circle.join(' > ')}`]),
  ]
}

/** The chain of includes from a prompt back to itself. Circles without it are reported for the prompts on them. */
function includeCircle(
  start: string,
  path: readonly string[],
  known: KnownDefinitions,
): readonly string[] | undefined {
  const last = known.prompts.get(path.at(-1) ?? start)
  for (const name of last === undefined ? [] : listIncludedPrompts(last)) {
    if (name === start) return [...path, name]
    const circle = path.includes(name) ? undefined : includeCircle(start, [...path, name], known)
    if (circle !== undefined) return circle
  }
  return undefined
}

/** Lists agents of which the entry does not say that they take the conversation over: their authors may mean subagents. */
function handoffWarnings(owner: string, entry: ToolEntry, known: KnownDefinitions): readonly string[] {
  const name = entryName(entry)
  const { names } = known
  const agent = names.tools.has(name) || names.prompts.has(name) ? undefined : known.agents.get(name)
  const isSaid = typeof entry !== 'string' && 'session' in entry && entry.session !== undefined
  if (agent === undefined || agent.type === 'dual_ai' || isSaid) return []
  return [
    `${owner} lists the agent '${name}', of type 'ai_human', so a call hands the conversation over to it for good: write { name: '${name}', session: true } for a subagent that answers, session: false for the handoff`,
  ]
}

/** Lists immediate subagents with missing or useless hints for their arguments. */
function immediateWarnings(owner: string, entry: ToolEntry, known: KnownDefinitions): readonly string[] {
  if (typeof entry === 'string' || !('immediate' in entry)) return []
  const { name, immediate, resumable } = entry
  const agent = known.agents.get(name)
  if (immediate === undefined || immediate === false || agent === undefined) return []
  const start = `${owner} starts the subagent '${name}' by itself`
  const hints = immediate === true ? {} : immediate
  const hinted = hints.nameEnv !== undefined || hints.descriptionEnv !== undefined
  const { takes, needs } = argumentsOf(agent, entry, known)
  if (!hinted && needs)
    return [
      `${start} with arguments of which nothing is known: a model has to make them up, and without one it does not start. Name immediate.descriptionEnv, or give each argument a default`,
    ]
  const stays = resumable !== undefined && resumable !== false
  if (hinted && !stays && !takes)
    return [
      `${start} with hints that nothing reads, for it has neither arguments nor is it resumable: give prompt '${agent.sideA.prompt}' a requiredSchema, or leave out nameEnv and descriptionEnv`,
    ]
  return []
}

/** `takes`: the subagent has arguments. `needs`: one of them has no default. */
function argumentsOf(
  { sideA }: AgentDefinition,
  entry: SubagentToolConfig,
  { prompts }: Pick<KnownDefinitions, 'prompts'>,
): { readonly takes: boolean; readonly needs: boolean } {
  const { schema } = subagentArguments(prompts.get(sideA.prompt)?.requiredSchema, entry)
  if (schema === undefined) return { takes: false, needs: false }
  return { takes: Object.keys(schema.shape).length > 0, needs: !schema.safeParse({}).success }
}

/** All fields that an entry of any kind may have. */
type EntryObject = SubpromptConfig & SubagentToolConfig

const INIT_FIELDS = ['initUserMessageProperty', 'initAttachmentsProperty'] as const

/** Fields that a handoff does not have. */
const SUBAGENT_FIELDS = [
  'blocking',
  'timeout',
  'resumable',
  'immediate',
  'optional',
  'fanOut',
  'initAgentNameProperty',
] as const

/** The fields that each kind of callable uses. */
const FIELDS = {
  function: [],
  prompt: ['includeTextResponse', 'includeToolCalls', 'includeErrors', ...INIT_FIELDS],
  handoff: ['session', ...INIT_FIELDS],
  session: ['session', ...SUBAGENT_FIELDS, ...INIT_FIELDS],
  subagent: [...SUBAGENT_FIELDS, ...INIT_FIELDS],
} as const satisfies Readonly<Record<string, readonly (keyof EntryObject)[]>>

const BOUND_PROPERTIES = {
  initUserMessageProperty: 'text',
  initAttachmentsProperty: 'paths',
  initAgentNameProperty: 'text',
} as const satisfies Partial<Record<keyof EntryObject, 'text' | 'paths'>>

/** Lists the problems of an entry of a prompt's tools. Its name is looked up in tools, then prompts, then agents. */
function toolEntryProblems(owner: string, entry: ToolEntry, known: KnownDefinitions): readonly string[] {
  const name = entryName(entry)
  const { names } = known
  const config: EntryObject = typeof entry === 'string' ? { name } : entry
  if (names.tools.has(name)) return uselessFields(owner, config, 'function')
  if (names.prompts.has(name)) {
    return [
      ...uselessFields(owner, config, 'prompt'),
      ...bindingProblems(owner, config, known.prompts.get(name)),
    ]
  }
  if (names.agents.has(name)) {
    const agent = known.agents.get(name)
    return agent === undefined ? [] : agentEntryProblems(owner, config, agent, known)
  }
  if (/^(provider|mcp):/.test(name)) return [`${owner} ${notSupportedYet(`tools: '${name}'`)}`]
  const callable = [...names.tools, ...names.prompts, ...names.agents]
  return [`${owner} lists the tool '${name}', which is not registered${suggestName(name, callable)}`]
}

/** Lists other definitions with the name of an entry, which the entry does not call. */
function toolEntryWarnings(owner: string, entry: ToolEntry, known: KnownDefinitions): readonly string[] {
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
  const isOfTwo = agent.type === 'dual_ai'
  const isHandoff = !isOfTwo && config.session !== true
  if (isHandoff && SUBAGENT_FIELDS.some((field) => config[field] !== undefined)) {
    return [
      `${owner} lists the agent '${agent.name}' as a subagent: write session: true, or give it the type 'dual_ai'`,
    ]
  }
  const entryPrompt = known.prompts.get(agent.sideA.prompt)
  return [
    ...uselessFields(owner, config, isHandoff ? 'handoff' : isOfTwo ? 'subagent' : 'session'),
    ...combinationProblems(`${owner} lists the subagent '${agent.name}'`, config),
    ...bindingProblems(owner, config, entryPrompt),
  ]
}

/** Lists fields that are valid alone, but not together. */
function combinationProblems(
  entry: string,
  { blocking, timeout, resumable, fanOut, session }: EntryObject,
): readonly string[] {
  const isResumable = resumable !== undefined && resumable !== false
  return [
    ...(session === true && isResumable && resumable.receives_messages !== 'side_a'
      ? [`${entry} with messages for side B, which a session of one side does not have: write side_a`]
      : []),
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

/** `prompt` has the schema of the call's arguments. */
function bindingProblems(
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
