import type { AgentDefinition } from './agent.js'
import { descriptionOf, inputSchemaOf } from './callable-schema.js'
import { includedPrompts } from './included-prompts.js'
import { initProperties } from './init-properties.js'
import type { Registry } from './known-definitions.js'
import { isResumable, listedTools } from './listed-tools.js'
import type { ListedTool } from './listed-tools.js'
import type {
  HandoffContent,
  PromptContent,
  SubpromptContent,
  SystemPart,
  ToolContent,
} from './plan-content.js'
import type { PromptDefinition } from './prompt.js'
import { registered } from './registered.js'
import { subagentContent, subagentTool } from './subagent-content.js'
import type { VariableDefinition } from './variable.js'

/** Of the newest messages: earlier images cost tokens in each step, and are rarely asked about. */
const RECENT_IMAGES = 10

/** What a model call needs of a prompt, as this agent runs it. */
export function promptContent(
  registry: Registry,
  prompt: PromptDefinition,
  agent: AgentDefinition,
): PromptContent {
  const tools = listedTools(registry, prompt)
  const own = prompt.hooks ?? []
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
    hooks: own.length > 0 ? own : (agent.hooks ?? []),
    variables: variablesOf(registry, prompt, tools),
    env: prompt.env ?? {},
    ...(prompt.providerOptions === undefined ? {} : { providerOptions: prompt.providerOptions }),
    tools: tools.filter((tool) => !isResumable(tool)).map((tool) => toolContent(registry, tool)),
    subagents: Object.fromEntries(subagents.map((content) => [content.agent, content])),
    subprompts: Object.fromEntries(tools.flatMap(subpromptContent)),
    handoffs: Object.fromEntries(tools.flatMap(handoffContent)),
  }
}

/** Includes are rendered; texts that meet are one part. */
function systemParts(registry: Registry, { prompt }: PromptDefinition): readonly SystemPart[] {
  if (typeof prompt === 'string') return [{ type: 'text', content: prompt }]
  const parts = prompt.flatMap((part) =>
    part.type === 'include'
      ? systemParts(registry, registered(registry.prompt(part.prompt), `prompt '${part.prompt}'`))
      : [part],
  )
  return parts.reduce<readonly SystemPart[]>((joined, part) => {
    const last = joined.at(-1)
    if (last?.type !== 'text' || part.type !== 'text') return [...joined, part]
    return [...joined.slice(0, -1), { type: 'text', content: last.content + part.content }]
  }, [])
}

/** Of its text and of its function tools, one entry a name; whoever requires it, it is required. */
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

/** What a prompt and those it includes declare: their texts are one. */
function textVariables(registry: Registry, prompt: PromptDefinition): readonly VariableDefinition[] {
  const included = includedPrompts(prompt).map((name) =>
    registered(registry.prompt(name), `prompt '${name}'`),
  )
  return [
    ...(prompt.variables ?? []),
    ...included.flatMap((definition) => textVariables(registry, definition)),
  ]
}

function toolContent(registry: Registry, listed: ListedTool): ToolContent {
  if (listed.kind === 'subagent') return subagentTool(subagentContent(registry, listed))
  return {
    name: listed.name,
    description: descriptionOf(listed),
    inputSchema: inputSchemaOf(registry, listed),
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
  return [[listed.name, { agent: listed.agent.name, ...initProperties(listed.config) }]]
}
