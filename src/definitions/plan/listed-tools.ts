import type { AgentDefinition } from '../agent.js'
import { registered } from '../known-definitions.js'
import type { Registry } from '../known-definitions.js'
import type { PromptDefinition, SubpromptConfig } from '../prompt.js'
import type { SubagentToolConfig } from '../subagent-tool.js'
import type { ToolDefinition } from '../tool.js'

/** What a prompt lists, looked up: a function, a prompt, an agent that takes over, or one that is started. */
export type ListedTool =
  | { readonly kind: 'function'; readonly name: string; readonly tool: ToolDefinition }
  | {
      readonly kind: 'prompt'
      readonly name: string
      readonly prompt: PromptDefinition
      readonly config: SubpromptConfig
    }
  | {
      readonly kind: 'hand_off'
      readonly name: string
      readonly agent: AgentDefinition
      readonly config: SubpromptConfig
    }
  | {
      readonly kind: 'subagent'
      readonly name: string
      readonly agent: AgentDefinition
      readonly config: SubagentToolConfig
    }

/** A subagent whose instances stay: reached by the lifecycle tools alone. */
export function isResumable(listed: ListedTool): boolean {
  return listed.kind === 'subagent' && typeof listed.config.resumable === 'object'
}

/** The tools of a prompt in its order. */
export function listedTools(registry: Registry, prompt: PromptDefinition): readonly ListedTool[] {
  return (prompt.tools ?? []).map((entry) => {
    const config = typeof entry === 'string' ? { name: entry } : entry
    return registered(called(registry, config), `tool '${config.name}'`)
  })
}

/** The definition of a name that no prompt lists: a queued tool may be any. */
export function namedTool(registry: Registry, name: string): ListedTool | undefined {
  return called(registry, { name })
}

/** A name is a tool before it is a prompt, and a prompt before it is an agent. */
function called(registry: Registry, config: SubpromptConfig & SubagentToolConfig): ListedTool | undefined {
  const { name } = config
  const tool = registry.tool(name)
  if (tool !== undefined) return { kind: 'function', name, tool }
  const prompt = registry.prompt(name)
  if (prompt !== undefined) return { kind: 'prompt', name, prompt, config }
  const agent = registry.agent(name)
  if (agent === undefined) return undefined
  const kind = agent.type === 'dual_ai' ? 'subagent' : 'hand_off'
  return { kind, name, agent, config }
}
