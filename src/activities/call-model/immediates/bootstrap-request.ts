import type { JSONSchema7 } from '@ai-sdk/provider'
import { embedSchema } from '../../../definitions/embed-schema.js'
import { takesArguments } from '../../../definitions/lifecycle-tools.js'
import type { SubagentContent, ToolContent } from '../../../definitions/plan-content.js'
import { textTokens } from '../../../model/context/row-tokens.js'
import type { BuiltRequest } from '../build-request.js'
import { requestSettings } from '../request-settings.js'
import type { Activation } from './activation.js'
import type { Hints } from './call-arguments.js'

export const BOOTSTRAP_TOOL = 'bootstrap_immediate_subagent'

const INSTRUCTION = [
  'An agent is about to start by itself. Write the arguments that it starts with.',
  `Call ${BOOTSTRAP_TOOL} once. Use what you are given here; where it says nothing, choose what is plain and safe.`,
].join('\n')

export interface Bootstrap {
  readonly subagent: SubagentContent
  readonly hints: Hints
}

/** A request with one forced tool, about one subagent: no history, and no variable but the two that are hints. */
export function bootstrapRequest(
  { input, content, prompt }: Activation,
  { subagent, hints }: Bootstrap,
  modelName: string,
): BuiltRequest {
  const model = Object.hasOwn(content.models, modelName) ? content.models[modelName] : undefined
  if (model === undefined) throw new Error(`The plan has no model ${modelName}.`)
  const tool = bootstrapTool(subagent)
  // Models that reason cannot be forced to call a tool, with some providers.
  const asked = { ...prompt, tools: [tool], reasoning: null }
  const settings = requestSettings({ input, prompt: asked, model })
  const text = words({ subagent, hints })
  return {
    options: {
      ...settings,
      ...(settings.tools === undefined ? {} : { toolChoice: { type: 'tool', toolName: BOOTSTRAP_TOOL } }),
      prompt: [
        { role: 'system', content: INSTRUCTION },
        { role: 'user', content: [{ type: 'text', text }] },
      ],
    },
    messages: 0,
    tools: settings.tools?.length ?? 0,
    dropped: 0,
    estimatedTokens: textTokens(INSTRUCTION) + textTokens(text) + textTokens(JSON.stringify(tool)),
    boundary: null,
  }
}

function words({ subagent, hints }: Bootstrap): string {
  return [
    `The agent: ${subagent.title ?? subagent.agent}. ${subagent.description}`,
    ...(hints.name === null ? [] : [`Its name: ${hints.name}`]),
    ...(hints.description === null ? [] : [`What it is to do: ${hints.description}`]),
  ].join('\n')
}

function bootstrapTool(subagent: SubagentContent): ToolContent {
  const description = `Starts the agent. ${subagent.description}`
  return { name: BOOTSTRAP_TOOL, description, inputSchema: bootstrapSchema(subagent) }
}

/** The arguments of the call; of one that creates an instance, what is not known yet. */
function bootstrapSchema(subagent: SubagentContent): JSONSchema7 {
  const { resumable, inputSchema } = subagent
  if (resumable === null) return inputSchema
  const own = takesArguments(subagent)
  const properties: Record<string, JSONSchema7> = {
    name: { type: 'string', minLength: 1, description: 'What the instance is called.' },
    message: { type: 'string', minLength: 1, description: 'What the instance is to do.' },
    ...(own ? { arguments: embedSchema(inputSchema, '#/properties/arguments') } : {}),
  }
  const required = ['name', 'message', ...(own ? ['arguments'] : [])]
  return { type: 'object', properties, required, additionalProperties: false }
}
