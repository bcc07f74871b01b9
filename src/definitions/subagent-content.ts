import type { JSONSchema7 } from '@ai-sdk/provider'
import { LIMITS } from '../protocol/limits.js'
import { descriptionOf, inputSchemaOf } from './callable-schema.js'
import { embedSchema } from './embed-schema.js'
import { initProperties } from './init-properties.js'
import type { Registry } from './known-definitions.js'
import { waitingNote } from './lifecycle-tools.js'
import type { ListedTool } from './listed-tools.js'
import type { ImmediateContent, ResumableContent, SubagentContent, ToolContent } from './plan-content.js'
import type { SubagentToolConfig } from './subagent-tool.js'

/** How a listed subagent is started; of one that no prompt lists, with the defaults of an entry that has its name alone. */
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
    inputSchema: inputSchemaOf(registry, listed),
    ...initProperties(config),
    ...(initAgentNameProperty === undefined ? {} : { initAgentNameProperty }),
  }
}

/** The tool of a subagent that is called by its own name. */
export function subagentTool(subagent: SubagentContent): ToolContent {
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

function resumableContent(resumable: SubagentToolConfig['resumable']): ResumableContent | null {
  if (resumable === undefined || resumable === false) return null
  return {
    receives: resumable.receives_messages === 'side_a' ? 'a' : 'b',
    maxInstances: resumable.maxInstances ?? null,
    parentCommunication: resumable.parentCommunication ?? 'implicit',
  }
}

/** `true` is an object with nothing in it. */
function immediateContent(immediate: SubagentToolConfig['immediate']): ImmediateContent | null {
  if (immediate === undefined || immediate === false) return null
  const { nameEnv = null, descriptionEnv = null, scopedEnv = [] } = immediate === true ? {} : immediate
  return { nameEnv, descriptionEnv, scopedEnv }
}
