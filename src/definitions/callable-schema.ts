import type { JSONSchema7 } from '@ai-sdk/provider'
import { descriptionOfAgent } from './agent-problems.js'
import { toInputSchema } from './argument-schema.js'
import type { Registry } from './known-definitions.js'
import type { ListedTool } from './listed-tools.js'
import type { PromptDefinition } from './prompt.js'
import { registered } from './registered.js'

/** The JSON schema of a call's arguments; without one of its own, a call has none. */
export function inputSchemaOf(registry: Registry, listed: ListedTool): JSONSchema7 {
  const schema = schemaOf(registry, listed)
  return schema === undefined
    ? { type: 'object', properties: {}, additionalProperties: false }
    : toInputSchema(schema)
}

/** What the calling model reads about it. */
export function descriptionOf(listed: ListedTool): string {
  if (listed.kind === 'function') return listed.tool.description
  return listed.kind === 'prompt' ? listed.prompt.toolDescription : descriptionOfAgent(listed.agent)
}

function schemaOf(registry: Registry, listed: ListedTool): PromptDefinition['requiredSchema'] {
  if (listed.kind === 'function') return listed.tool.args
  if (listed.kind === 'prompt') return listed.prompt.requiredSchema
  const entry = listed.agent.sideA.prompt
  return registered(registry.prompt(entry), `prompt '${entry}'`).requiredSchema
}
