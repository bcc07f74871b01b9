import type { JSONSchema7 } from '@ai-sdk/provider'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import type { AgentDefinition, VariableDefinition } from '../agent.js'
import { descriptionOfAgent } from '../checks/agent-problems.js'
import { DECIDING_POINTS } from '../hook.js'
import { requireDefinition } from '../known-definitions.js'
import type { Registry } from '../known-definitions.js'
import { listIncludedPrompts } from '../prompt.js'
import type { PromptDefinition, SubpromptConfig } from '../prompt.js'
import type { SubagentToolConfig } from '../subagent-tool.js'
import type { ToolDefinition } from '../tool.js'
import { toInputSchema } from './argument-schema.js'
import type { ArgumentSchema } from './argument-schema.js'
import { embedSchema, waitingNote } from './lifecycle-tools.js'
import { isResumable, listTools } from './listed-tools.js'
import { subagentArguments } from './tool-arguments.js'
import type { ListedTool } from './listed-tools.js'
import type {
  HandoffContent,
  PromptContent,
  SubagentContent,
  SubpromptContent,
  SystemPart,
  ToolContent,
} from './plan-content.js'

/** How many of the newest messages keep their images: earlier ones cost tokens in each step, and are rarely needed. */
const RECENT_IMAGES = 10

/** The part of a prompt that its model calls need, when this agent runs it. */
export function promptContent(
  registry: Registry,
  prompt: PromptDefinition,
  agent: AgentDefinition,
): PromptContent {
  const tools = listTools(registry, prompt)
  const own = prompt.hooks ?? []
  const hooks = own.length > 0 ? own : (agent.hooks ?? [])
  const subagents = tools.flatMap((tool) =>
    tool.kind === 'subagent' ? [subagentContent(registry, tool)] : [],
  )
  return {
    system: systemParts(registry, prompt),
    model: prompt.model,
    includeChat: prompt.includeChat ?? false,
    includePastTools: prompt.includePastTools ?? false,
    toolChoice: prompt.toolChoice ?? 'auto',
    parallelToolCalls: prompt.parallelToolCalls ?? false,
    reasoning: prompt.reasoning ?? null,
    recentImageThreshold: prompt.recentImageThreshold ?? RECENT_IMAGES,
    ...withoutUndefined({ window: prompt.window, compaction: prompt.compaction }),
    hooks,
    ...decidingOf(registry, hooks),
    variables: variablesOf(registry, prompt, tools),
    env: prompt.env ?? {},
    ...capabilitiesOf(prompt),
    ...(prompt.providerOptions === undefined ? {} : { providerOptions: prompt.providerOptions }),
    ...providerToolsOf(prompt),
    ...toolSourcesOf(prompt),
    tools: tools.filter((tool) => !isResumable(tool)).map((tool) => toolContent(registry, tool)),
    subagents: Object.fromEntries(subagents.map((content) => [content.agent, content])),
    subprompts: Object.fromEntries(tools.flatMap(subpromptContent)),
    handoffs: Object.fromEntries(tools.flatMap(handoffContent)),
  }
}

/** `registry()` has checked them. */
function providerToolsOf({ providerTools = {} }: PromptDefinition): Pick<PromptContent, 'providerTools'> {
  const listed = Object.entries(providerTools).map(([name, { id, args }]) => ({
    ...{ name, id: id as `${string}.${string}` },
    args: JSON.parse(JSON.stringify(args ?? {})) as Record<string, unknown>,
  }))
  return listed.length === 0 ? {} : { providerTools: listed }
}

function toolSourcesOf({ toolSources = [] }: PromptDefinition): Pick<PromptContent, 'toolSources'> {
  return toolSources.length === 0 ? {} : { toolSources: toolSources.map(({ name }) => name) }
}

function decidingOf(registry: Registry, hooks: readonly string[]): Pick<PromptContent, 'deciding'> {
  const deciding = hooks.flatMap((id) => {
    const point = DECIDING_POINTS.find((known) => known === registry.hook(id)?.hook)
    return point === undefined ? [] : [[id, point] as const]
  })
  return deciding.length === 0 ? {} : { deciding: Object.fromEntries(deciding) }
}

/** Resolves includes, and joins adjacent texts into one part. */
function systemParts(registry: Registry, { prompt }: PromptDefinition): readonly SystemPart[] {
  if (typeof prompt === 'string') return [{ type: 'text', content: prompt }]
  const parts = prompt.flatMap((part) =>
    part.type === 'include'
      ? systemParts(registry, requireDefinition(registry.prompt(part.prompt), `prompt '${part.prompt}'`))
      : [part],
  )
  return parts.reduce<readonly SystemPart[]>((joined, part) => {
    const last = joined.at(-1)
    if (last?.type !== 'text' || part.type !== 'text') return [...joined, part]
    return [...joined.slice(0, -1), { type: 'text', content: last.content + part.content }]
  }, [])
}

/** The variables of its text and its function tools, one entry per name, required if one of them requires it. */
function variablesOf(
  registry: Registry,
  prompt: PromptDefinition,
  tools: readonly ListedTool[],
): readonly VariableDefinition[] {
  const declared = [
    ...textVariables(registry, prompt),
    ...tools.flatMap((listed) => (listed.kind === 'function' ? (listed.tool.variables ?? []) : [])),
  ]
  const byName = new Map<string, VariableDefinition>()
  for (const variable of declared) {
    const known = byName.get(variable.name)
    byName.set(
      variable.name,
      known === undefined ? variable : { ...known, required: known.required || variable.required },
    )
  }
  return [...byName.values()]
}

/** The variables that a prompt and its includes declare, because their texts are joined. */
function textVariables(registry: Registry, prompt: PromptDefinition): readonly VariableDefinition[] {
  const included = listIncludedPrompts(prompt).map((name) =>
    requireDefinition(registry.prompt(name), `prompt '${name}'`),
  )
  return [
    ...(prompt.variables ?? []),
    ...included.flatMap((definition) => textVariables(registry, definition)),
  ]
}

function toolContent(registry: Registry, listed: ListedTool): ToolContent {
  if (listed.kind === 'subagent') return subagentTool(subagentContent(registry, listed))
  const { strict, providerOptions }: Partial<ToolDefinition> = listed.kind === 'function' ? listed.tool : {}
  return {
    name: listed.name,
    description: descriptionOf(listed),
    inputSchema: inputSchemaOf(registry, listed),
    ...withoutUndefined({ strict, providerOptions }),
  }
}

function subpromptContent(listed: ListedTool): readonly (readonly [string, SubpromptContent])[] {
  if (listed.kind !== 'prompt') return []
  const { includeTextResponse = true, includeToolCalls = true, includeErrors = true } = listed.config
  const shown = { includeTextResponse, includeToolCalls, includeErrors }
  return [[listed.name, { prompt: listed.name, ...shown, ...initProperties(listed.config) }]]
}

function handoffContent(listed: ListedTool): readonly (readonly [string, HandoffContent])[] {
  if (listed.kind !== 'hand_off') return []
  const { agent, config } = listed
  return [[listed.name, { agent: agent.name, ...capabilitiesOf(agent), ...initProperties(config) }]]
}

/** How a listed subagent starts. One that no prompt lists has the defaults of an entry with its name only. */
export function subagentContent(
  registry: Registry,
  listed: Extract<ListedTool, { readonly kind: 'subagent' }>,
): SubagentContent {
  const { agent, config } = listed
  const { initAgentNameProperty } = config
  return {
    agent: agent.name,
    title: agent.title ?? null,
    description: descriptionOf(listed),
    blocking: config.blocking ?? true,
    timeout: config.timeout ?? null,
    optional: config.optional ?? null,
    resumable: resumableContent(config.resumable),
    immediate: immediateContent(config.immediate),
    fanOut: config.fanOut ?? false,
    ...(config.session === true && { session: true as const }),
    inputSchema: inputSchemaOf(registry, listed),
    ...capabilitiesOf(agent),
    ...initProperties({ ...config, ...subagentArguments(schemaOfAgent(registry, agent), config) }),
    ...(initAgentNameProperty === undefined ? {} : { initAgentNameProperty }),
  }
}

/** The tool of a subagent that models call by its own name. */
function subagentTool(subagent: SubagentContent): ToolContent {
  const { agent: name, fanOut, inputSchema } = subagent
  const note = fanOut
    ? 'It takes a list of items and starts one instance for each; what all of them say comes together.'
    : ''
  const description = [subagent.description, note, waitingNote(subagent)]
    .filter((text) => text !== '')
    .join(' ')
  return { name, description, inputSchema: fanOut ? itemsSchema(inputSchema) : inputSchema }
}

function itemsSchema(items: JSONSchema7): JSONSchema7 {
  return {
    type: 'object',
    properties: {
      items: {
        type: 'array',
        items: embedSchema(items, '#/properties/items/items'),
        minItems: 1,
        maxItems: LIMITS.fanOut,
      },
    },
    required: ['items'],
    additionalProperties: false,
  }
}

function resumableContent(resumable: SubagentToolConfig['resumable']): SubagentContent['resumable'] {
  if (resumable === undefined || resumable === false) return null
  return {
    receives: resumable.receives_messages === 'side_a' ? 'a' : 'b',
    maxInstances: resumable.maxInstances ?? null,
    parentCommunication: resumable.parentCommunication ?? 'implicit',
  }
}

/** `true` means an empty object. */
function immediateContent(immediate: SubagentToolConfig['immediate']): SubagentContent['immediate'] {
  if (immediate === undefined || immediate === false) return null
  const { nameEnv = null, descriptionEnv = null, scopedEnv = [] } = immediate === true ? {} : immediate
  return { nameEnv, descriptionEnv, scopedEnv }
}

function capabilitiesOf({ capabilities }: Pick<AgentDefinition, 'capabilities'>): {
  readonly capabilities?: readonly string[]
} {
  return capabilities === undefined ? {} : { capabilities }
}

type InitProperties = Pick<SubpromptConfig, 'initUserMessageProperty' | 'initAttachmentsProperty'>

/** The names of the arguments that become a first message, without undefined fields. */
function initProperties({
  initUserMessageProperty,
  initAttachmentsProperty,
}: InitProperties): InitProperties {
  return {
    ...(initUserMessageProperty === undefined ? {} : { initUserMessageProperty }),
    ...(initAttachmentsProperty === undefined ? {} : { initAttachmentsProperty }),
  }
}

/** The JSON schema of a call's arguments; a callable without a schema takes no arguments. */
function inputSchemaOf(registry: Registry, listed: ListedTool): JSONSchema7 {
  const schema = schemaOf(registry, listed)
  return schema === undefined
    ? { type: 'object', properties: {}, additionalProperties: false }
    : toInputSchema(schema)
}

/** The description for the calling model. */
function descriptionOf(listed: ListedTool): string {
  if (listed.kind === 'function') return listed.tool.description
  return listed.kind === 'prompt' ? listed.prompt.toolDescription : descriptionOfAgent(listed.agent)
}

function schemaOf(registry: Registry, listed: ListedTool): ArgumentSchema | undefined {
  if (listed.kind === 'function') return listed.tool.args
  if (listed.kind === 'prompt') return listed.prompt.requiredSchema
  const own = schemaOfAgent(registry, listed.agent)
  return listed.kind === 'subagent' ? subagentArguments(own, listed.config).schema : own
}

function schemaOfAgent(registry: Registry, { sideA }: AgentDefinition): PromptDefinition['requiredSchema'] {
  return requireDefinition(registry.prompt(sideA.prompt), `prompt '${sideA.prompt}'`).requiredSchema
}
