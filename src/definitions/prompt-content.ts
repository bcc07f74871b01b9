import type { SharedV4ProviderOptions } from '@ai-sdk/provider'

import type { ListedTool } from './listed-tools.js'
import type { ModelDefinition } from './model.js'
import type { PromptContent, SubagentContent, ToolContent } from './plan-content.js'
import type { PromptDefinition } from './prompt.js'
import type { Registry } from './registry.js'

import { toInputSchema } from './argument-schema.js'
import { listedTools } from './listed-tools.js'
import { registered } from './registered.js'

/** What a model call needs of a prompt. */
export function promptContent(registry: Registry, prompt: PromptDefinition): PromptContent {
  const model = registered(registry.model(prompt.model), `model '${prompt.model}'`)
  const providerOptions = overridden(model, prompt)
  const tools = listedTools(registry, prompt)
  return {
    system: systemText(registry, prompt),
    model: prompt.model,
    includeChat: prompt.includeChat ?? false,
    includePastTools: prompt.includePastTools ?? false,
    toolChoice: prompt.toolChoice ?? 'auto',
    ...(providerOptions === undefined ? {} : { providerOptions }),
    tools: tools.map((tool) => toolContent(registry, tool)),
    subagents: Object.fromEntries(tools.flatMap(subagentContent)),
  }
}

function systemText(registry: Registry, { prompt }: PromptDefinition): string {
  if (typeof prompt === 'string') return prompt
  const texts = prompt.map((part) =>
    part.type === 'text'
      ? part.content
      : systemText(registry, registered(registry.prompt(part.prompt), `prompt '${part.prompt}'`)),
  )
  return texts.join('')
}

function overridden(model: ModelDefinition, prompt: PromptDefinition): SharedV4ProviderOptions | undefined {
  const providers = new Set([
    ...Object.keys(model.providerOptions ?? {}),
    ...Object.keys(prompt.providerOptions ?? {}),
  ])
  if (providers.size === 0) return undefined
  return Object.fromEntries(
    [...providers].map((key) => [key, { ...model.providerOptions?.[key], ...prompt.providerOptions?.[key] }]),
  )
}

function toolContent(registry: Registry, listed: ListedTool): ToolContent {
  const { name } = listed
  const entry =
    listed.kind === 'function' ? listed.tool.args : subagentSchema(registry, listed.agent.sideA.prompt)
  const description =
    listed.kind === 'function' ? listed.tool.description : (listed.agent.toolDescription ?? '')
  const inputSchema =
    entry === undefined
      ? { type: 'object' as const, properties: {}, additionalProperties: false }
      : toInputSchema(entry)
  return { name, description, inputSchema }
}

function subagentSchema(registry: Registry, promptName: string): PromptDefinition['requiredSchema'] {
  return registered(registry.prompt(promptName), `prompt '${promptName}'`).requiredSchema
}

function subagentContent(listed: ListedTool): readonly (readonly [string, SubagentContent])[] {
  if (listed.kind === 'function') return []
  const { initUserMessageProperty, initAttachmentsProperty, initAgentNameProperty } = listed.config
  const content = {
    agent: listed.agent.name,
    blocking: listed.config.blocking ?? true,
    ...(initUserMessageProperty === undefined ? {} : { initUserMessageProperty }),
    ...(initAttachmentsProperty === undefined ? {} : { initAttachmentsProperty }),
    ...(initAgentNameProperty === undefined ? {} : { initAgentNameProperty }),
  }
  return [[listed.name, content]]
}
