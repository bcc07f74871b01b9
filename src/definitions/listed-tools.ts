import type { AgentDefinition } from './agent.js'
import type { PromptDefinition } from './prompt.js'
import type { Registry } from './registry.js'
import type { SubagentToolConfig } from './subagent-tool.js'
import type { ToolDefinition } from './tool.js'

import { registered } from './registered.js'

/** What a prompt lists, looked up: a tool's function, or the agent that a call starts. */
export type ListedTool =
  | { readonly kind: 'function'; readonly name: string; readonly tool: ToolDefinition }
  | {
      readonly kind: 'subagent'
      readonly name: string
      readonly agent: AgentDefinition
      readonly config: SubagentToolConfig
    }

/** The tools of a prompt in its order. A name alone is a tool before it is an agent; an object is an agent. */
export function listedTools(registry: Registry, prompt: PromptDefinition): readonly ListedTool[] {
  return (prompt.tools ?? []).map((entry) => {
    const name = typeof entry === 'string' ? entry : entry.name
    const tool = typeof entry === 'string' ? registry.tool(name) : undefined
    if (tool !== undefined) return { kind: 'function', name, tool }
    const agent = registered(registry.agent(name), `agent '${name}'`)
    return { kind: 'subagent', name, agent, config: typeof entry === 'string' ? { name } : entry }
  })
}
