import type { AgentDefinition } from '../agent.js'
import { requireDefinition } from '../known-definitions.js'
import type { Registry } from '../known-definitions.js'
import type { PromptDefinition, SubpromptConfig } from '../prompt.js'
import type { SubagentToolConfig } from '../subagent-tool.js'
import type { ToolDefinition } from '../tool.js'

/** An entry of a prompt's tools with its definition: a function, a prompt, an agent for a handoff, or a subagent. */
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

/** True for a subagent whose instances stay open, which only the lifecycle tools can call. */
export function isResumable(listed: ListedTool): boolean {
  return listed.kind === 'subagent' && typeof listed.config.resumable === 'object'
}

/** Lists the tools of a prompt in its order. */
export function listTools(registry: Registry, prompt: PromptDefinition): readonly ListedTool[] {
  return (prompt.tools ?? []).map((entry) => {
    const config = typeof entry === 'string' ? { name: entry } : entry
    return requireDefinition(resolveTool(registry, config), `tool '${config.name}'`)
  })
}

/** Finds a callable by its name alone: a queued tool need not be listed by a prompt. */
export function findTool(registry: Registry, name: string): ListedTool | undefined {
  return resolveTool(registry, { name })
}

/** Resolves a name: tools come before prompts, and prompts before agents. */
function resolveTool(
  registry: Registry,
  config: SubpromptConfig & SubagentToolConfig,
): ListedTool | undefined {
  const { name } = config
  const tool = registry.tool(name)
  if (tool !== undefined) return { kind: 'function', name, tool }
  const prompt = registry.prompt(name)
  if (prompt !== undefined) return { kind: 'prompt', name, prompt, config }
  const agent = registry.agent(name)
  if (agent === undefined) return undefined
  const kind = agent.type === 'dual_ai' || config.session === true ? 'subagent' : 'hand_off'
  return { kind, name, agent, config }
}
