/**
 * The definitions of Standard Agents that agents in the short form stand for.
 *
 * Owns: which agents, tools, models and hooks are reached from the given agents, their names, and the one error for a name of two
 * different things.
 * Does not own: the checks of the definitions that it makes (`checks/`).
 * Invariant: the same object under the same name is one definition, also where the registry lists it, too.
 */
import { ConfigError } from '../../protocol/errors.js'
import { isObject, withoutUndefined, suggestName } from '../../protocol/values.js'
import type { Fields } from '../../protocol/values.js'
import type { UnreadNames } from '../checks/check-definitions.js'
import { entryName } from '../checks/names.js'
import { KIND_WORDS, listGivenDefinitions, unreadableProblem } from '../known-definitions.js'
import type { ModelDefinition } from '../model.js'
import type { PromptDefinition, ToolEntry } from '../prompt.js'
import { isToolSource } from '../tool-source.js'
import { isAgent } from './agent.js'
import type { Agent } from './agent.js'
import { isSameModel, readModel } from './agent-model.js'
import { isAiTool, readAiTool } from './ai-tool.js'

interface Expanded {
  /** The input of `registry()`, in the standard form alone. */
  readonly definitions: unknown
  readonly problems: readonly string[]
  /** Names that stand for a definition with a problem. */
  readonly unread: UnreadNames
}

/** Replaces agents in the short form by the definitions that they stand for, with all that they reach. */
export function expandAgents(given: unknown): Expanded {
  const agents = isObject(given) ? listOf(given['agents']) : []
  if (!isObject(given) || !agents.some(isAgent))
    return { definitions: withLists(given), problems: [], unread: {} }
  const found = createFound(given)
  const reached = reachAgents(agents, found)
  const called = new Set([...reached.flatMap(({ calls }) => calls), ...calledByPrompts(given)].map(entryName))
  const made = reached.map((one) => inAgent(one.agent, () => standardForm(one, called, found)))
  checkNamedModels(found)
  return {
    definitions: {
      ...given,
      agents: made.map(({ agent }) => agent),
      prompts: [...listOf(given['prompts']), ...made.flatMap(({ prompt }) => prompt ?? [])],
      models: [...listOf(given['models']), ...found.added('models').values()],
      tools: { ...(isObject(given['tools']) && given['tools']), ...Object.fromEntries(found.added('tools')) },
      hooks: [...listOf(given['hooks']), ...found.added('hooks').values()],
    },
    problems: found.problems,
    unread: { models: found.unreadModels, tools: found.unreadTools },
  }
}

/** Prompts and models are optional: agents in the short form bring their own. */
function withLists(given: unknown): unknown {
  return isObject(given)
    ? { ...given, prompts: given['prompts'] ?? [], models: given['models'] ?? [] }
    : given
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function calledByPrompts(given: Fields): readonly ToolEntry[] {
  return listOf(given['prompts']).flatMap((prompt) =>
    isObject(prompt) ? (listOf(prompt['tools']) as readonly ToolEntry[]) : [],
  )
}

type FoundKind = 'agents' | 'models' | 'tools' | 'hooks'

/** The definitions by name, those of the registry first. */
interface Found {
  readonly problems: string[]
  readonly unreadModels: string[]
  readonly unreadTools: string[]
  /** The models that agents name by a text. */
  readonly namedModels: { readonly owner: string; readonly name: string }[]
  /** The names of a kind that there are. */
  names(kind: FoundKind): readonly string[]
  /** Notes a definition that an agent has. False: there is a different one under the same name, which is a problem. */
  note(kind: FoundKind, name: string, definition: unknown, owner: string): boolean
  /** Those that the registry does not list itself. */
  added(kind: FoundKind): ReadonlyMap<string, unknown>
}

interface Noted {
  readonly definition: unknown
  readonly owner: string
}

function createFound(given: Fields): Found {
  const problems: string[] = []
  const kinds = ['agents', 'models', 'tools', 'hooks'] as const
  const noted = new Map(
    kinds.map((kind) => {
      const listed = listGivenDefinitions(given, kind).flatMap(({ name, definition }) =>
        name === undefined ? [] : [[name, { definition, owner: 'the registry' }] as const],
      )
      return [kind, new Map<string, Noted>(listed)]
    }),
  )
  const added = new Map(kinds.map((kind) => [kind, new Map<string, unknown>()]))
  return {
    problems,
    unreadModels: [],
    unreadTools: [],
    namedModels: [],
    names: (kind) => [...(noted.get(kind)?.keys() ?? [])],
    note(kind, name, definition, owner) {
      const known = noted.get(kind)?.get(name)
      if (known === undefined) {
        noted.get(kind)?.set(name, { definition, owner })
        added.get(kind)?.set(name, definition)
        return true
      }
      if (isSame(kind, known.definition, definition)) return true
      const word = KIND_WORDS[kind]
      problems.push(
        `${owner} has the ${word} '${name}', which is not the ${word} '${name}' of ${known.owner}: ${ADVICE[kind]}`,
      )
      return false
    },
    added: (kind) => added.get(kind) ?? new Map<string, unknown>(),
  }
}

const ADVICE: Readonly<Record<FoundKind, string>> = {
  agents: 'give one of them another name',
  models: "use one object for both, or give one of them a name: model: { model, name: 'other' }",
  tools: 'give one of them another name',
  hooks: 'give one of them another id',
}

function isSame(kind: FoundKind, one: unknown, other: unknown): boolean {
  return one === other || (kind === 'models' && isSameModel(one as ModelDefinition, other as ModelDefinition))
}

/** A reached agent with the entries of its prompt that call other agents. */
interface Reached {
  readonly agent: unknown
  readonly calls: readonly ToolEntry[]
}

/** Follows subagents and handoffs from the given agents; each agent is visited once. */
function reachAgents(agents: readonly unknown[], found: Found): readonly Reached[] {
  const waiting = [...agents]
  const reached: Reached[] = []
  const visited = new Set<unknown>()
  for (let agent = waiting.shift(); agent !== undefined; agent = waiting.shift()) {
    // The check of the registry reports one that is listed twice in the standard form.
    if (isAgent(agent) && visited.has(agent)) continue
    visited.add(agent)
    const { calls, others } = isAgent(agent)
      ? inAgent(agent, () => readCalls(agent, found))
      : { calls: [], others: [] }
    reached.push({ agent, calls })
    for (const other of others) if (!visited.has(other) && !waiting.includes(other)) waiting.push(other)
  }
  return reached
}

interface Calls {
  readonly calls: readonly ToolEntry[]
  /** The agents that it calls. */
  readonly others: readonly unknown[]
}

function readCalls({ name, options }: Agent, found: Found): Calls {
  const owner = `agent '${name}'`
  const calls: ToolEntry[] = []
  const others: unknown[] = []
  const groups = [
    ['subagents', true, options.subagents],
    ['handoffs', false, readHandoffs(owner, options.handoffs, found)],
  ] as const
  for (const [field, session, group] of groups) {
    for (const [key, value] of entriesOf(`${owner}: ${field}`, group, found)) {
      const settings: Fields = session && isObject(value) && 'agent' in value ? value : { agent: value }
      const { agent: other, ...entry } = settings
      const otherName = nameOf(other)
      if (otherName === undefined) {
        found.problems.push(`${owner}: ${field}.${key}: expected an agent of agent() or defineAgent()`)
      } else if (otherName !== key) {
        found.problems.push(
          `${owner}: ${field}.${key} is the agent '${otherName}', which is called by its name: write ${field}: { ${otherName} }`,
        )
      } else {
        // Behind another agent of the same name there may be ever new ones.
        if (found.note('agents', otherName, other, owner)) others.push(other)
        const isOfTwo = !isAgent(other) && isObject(other) && other['type'] === 'dual_ai'
        // The checks of the registry read the settings.
        calls.push({ ...entry, name: otherName, ...(!isOfTwo && { session }) } as ToolEntry)
      }
    }
  }
  return { calls, others }
}

function nameOf(agent: unknown): string | undefined {
  if (!isObject(agent) || !(isAgent(agent) || 'sideA' in agent)) return undefined
  return typeof agent['name'] === 'string' ? agent['name'] : undefined
}

/** Reads `handoffs`, which can be a function, so that agents can name each other. */
function readHandoffs(owner: string, handoffs: unknown, found: Found): unknown {
  if (typeof handoffs !== 'function') return handoffs
  try {
    const answer: unknown = handoffs()
    return answer
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    found.problems.push(`${owner}: handoffs: the function threw: ${reason}`)
    return undefined
  }
}

function entriesOf(what: string, group: unknown, found: Found): readonly (readonly [string, unknown])[] {
  if (group === undefined) return []
  // A promise has no entries that anybody could see.
  if (isObject(group) && !(group instanceof Promise)) return Object.entries(group)
  found.problems.push(`${what}: expected an object, by name: { my_name }`)
  return []
}

/** Fields of an agent and of a prompt that the short form takes over. */
const OF_AGENT = [
  ...['maxToolIterations', 'providerPatience', 'runAhead', 'permissions', 'budget', 'capabilities'],
  ...['title', 'description', 'icon', 'env', 'output'],
]
const OF_PROMPT = [
  ...['variables', 'parallelToolCalls', 'reasoning', 'recentImageThreshold', 'continueCutAnswers'],
  ...['toolChoice', 'providerTools', 'providerOptions'],
  ...['window', 'compaction'],
]
const OWN = ['name', 'model', 'instructions', 'tools', 'subagents', 'handoffs', 'input', 'maxSteps', 'hooks']
const FIELDS = [...OWN, ...OF_AGENT, ...OF_PROMPT]

function standardForm(
  { agent, calls }: Reached,
  called: ReadonlySet<string>,
  found: Found,
): { readonly agent: unknown; readonly prompt: PromptDefinition | null } {
  if (!isAgent(agent)) return { agent, prompt: null }
  const { name } = agent
  const options: Fields = { ...agent.options }
  const owner = `agent '${name}'`
  for (const field of Object.keys(options).filter((key) => !FIELDS.includes(key)))
    found.problems.push(`${owner} has the unknown field ${field}${suggestName(field, FIELDS)}`)
  const promptName = `${name}_prompt`
  const hooks = noteHooks(owner, options['hooks'], found)
  const prompt = {
    ...pick(options, OF_PROMPT),
    name: promptName,
    toolDescription: textOf(options['description']) ?? name,
    prompt: options['instructions'],
    model: noteModel(agent.name, options['model'], found),
    includeChat: true,
    includePastTools: true,
    ...withoutUndefined({ requiredSchema: options['input'] }),
    ...providerToolsOf(options),
    ...toolSourcesOf(owner, options['tools'], found),
    tools: [...noteTools(owner, options['tools'], found), ...calls],
  }
  const standard = {
    ...pick(options, OF_AGENT),
    name,
    sideA: { prompt: promptName, ...withoutUndefined({ maxSteps: options['maxSteps'] }) },
    ...(called.has(name) && { exposeAsTool: true }),
    ...(hooks.length > 0 && { hooks }),
  }
  // The checks of the registry read both.
  return { agent: standard, prompt: prompt as PromptDefinition }
}

function pick(options: Fields, fields: readonly string[]): Fields {
  return Object.fromEntries(
    fields.flatMap((field) => (options[field] === undefined ? [] : [[field, options[field]] as const])),
  )
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** The name of the model; one that cannot be read has a name that the checks know. */
function noteModel(agent: string, given: unknown, found: Found): string {
  const owner = `agent '${agent}'`
  const read = readModel(given, agent)
  if ('problem' in read) {
    found.problems.push(`${owner}: ${read.problem}`)
    found.unreadModels.push(`the model of ${owner}`)
    return `the model of ${owner}`
  }
  if (typeof given === 'string') found.namedModels.push({ owner, name: given })
  for (const definition of read.definitions) found.note('models', definition.name, definition, owner)
  return read.name
}

/** A name that is none of the registry is most often the id of a provider. */
function checkNamedModels(found: Found): void {
  const known = found.names('models')
  for (const { owner, name } of found.namedModels.filter((one) => !known.includes(one.name))) {
    found.unreadModels.push(name)
    found.problems.push(
      `${owner}: model: expected an object such as openai('gpt-5-mini') or the name of a model of the registry, got '${name}', which is not registered${suggestName(name, known)}`,
    )
  }
}

/** Reads an agent. @throws ConfigError that names the agent for a field whose getter throws */
function inAgent<Read>(agent: unknown, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    throw new ConfigError([unreadableProblem(`agent '${nameOf(agent) ?? '?'}'`, error)])
  }
}

/** A tool of the AI SDK that its provider runs. */
function isProviderTool(tool: unknown): boolean {
  return isObject(tool) && tool['type'] === 'provider' && tool['isProviderExecuted'] === true
}

/** Those among the tools of an agent, too. */
function providerToolsOf({ tools, providerTools }: Fields): Fields {
  const listed = isObject(tools) ? Object.entries(tools).filter(([, tool]) => isProviderTool(tool)) : []
  if (listed.length === 0) return {}
  return {
    providerTools: { ...(isObject(providerTools) ? providerTools : {}), ...Object.fromEntries(listed) },
  }
}

/** Sources of tools among the tools of an agent. */
function toolSourcesOf(owner: string, given: unknown, found: Found): Fields {
  const listed = isObject(given) ? Object.entries(given).filter(([, tool]) => isToolSource(tool)) : []
  const sources = listed.map(([name, source]) => {
    if (isToolSource(source) && source.name !== name)
      found.problems.push(
        `${owner}: tools.${name} is the source '${source.name}', which is listed by its name: write ${source.name}`,
      )
    return source
  })
  return sources.length === 0 ? {} : { toolSources: sources }
}

function noteTools(owner: string, given: unknown, found: Found): readonly string[] {
  const own = entriesOf(`${owner}: tools`, given, found).filter(
    ([, tool]) => !isProviderTool(tool) && !isToolSource(tool),
  )
  return own.map(([name, tool]) => {
    const read = isAiTool(tool) ? readAiTool(tool) : { tool }
    if ('tool' in read) found.note('tools', name, read.tool, owner)
    else {
      found.problems.push(
        ...read.problems.map((problem) => `${owner}: the tool '${name}' of the AI SDK ${problem}`),
      )
      found.unreadTools.push(name)
    }
    return name
  })
}

function noteHooks(owner: string, given: unknown, found: Found): readonly string[] {
  if (given !== undefined && !Array.isArray(given))
    found.problems.push(`${owner}: hooks: expected a list of hooks of defineHook`)
  return listOf(given).flatMap((hook, index) => {
    const id = isObject(hook) ? hook['id'] : undefined
    if (typeof id !== 'string') {
      found.problems.push(`${owner}: hooks[${index}]: expected a hook of defineHook`)
      return []
    }
    found.note('hooks', id, hook, owner)
    return [id]
  })
}
