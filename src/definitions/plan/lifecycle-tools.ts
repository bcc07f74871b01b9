import type { JSONSchema7 } from '@ai-sdk/provider'
import type { SubagentContent, ToolContent } from './plan-content.js'

/** The tools of a prompt that lists a resumable subagent; no definition may have their names. */
export const LIFECYCLE_TOOLS = { create: 'subagent_create', message: 'subagent_message' } as const

const PATHS: JSONSchema7 = {
  type: 'array',
  items: { type: 'string' },
  description: 'Paths of files of this conversation that go with the message; may be empty.',
}

/**
 * The lifecycle tools of these resumable subagents, for a model. `agent` lists the enabled subagents only, so that a model
 * cannot choose a disabled one.
 */
export function lifecycleTools(subagents: readonly SubagentContent[]): readonly ToolContent[] {
  if (subagents.length === 0) return []
  return [createTool(subagents), messageTool(subagents)]
}

/** Explains to a model how it gets the result of a subagent. */
export function waitingNote({
  blocking,
  resumable,
}: Pick<SubagentContent, 'blocking' | 'resumable'>): string {
  if (blocking) return 'The call waits until the agent is done, and answers with its result.'
  if (resumable?.parentCommunication === 'explicit')
    return 'The call does not wait: the agent sends a message when it has something to say.'
  return 'The call does not wait: the result comes later, as a message.'
}

function createTool(subagents: readonly SubagentContent[]): ToolContent {
  const lines = subagents.map((subagent) => {
    const title = subagent.title === null ? '' : ` (${subagent.title})`
    return `- ${subagent.agent}${title}: ${subagent.description} ${waitingNote(subagent)}`
  })
  const description = [
    'Starts a new instance of an agent, which stays and takes more messages by subagent_message. The agents:',
    ...lines,
  ].join('\n')
  const args = argumentsSchema(subagents)
  const properties: Record<string, JSONSchema7> = {
    agent: { type: 'string', enum: subagents.map(({ agent }) => agent) },
    name: { type: 'string', minLength: 1, description: 'What this instance is called.' },
    message: { type: 'string', minLength: 1, description: 'What the instance is to do.' },
    attachments: PATHS,
    ...(args === null ? {} : { arguments: args }),
  }
  return {
    name: LIFECYCLE_TOOLS.create,
    description,
    inputSchema: {
      type: 'object',
      properties,
      required: ['agent', 'name', 'message', 'attachments'],
      additionalProperties: false,
    },
  }
}

function messageTool(subagents: readonly SubagentContent[]): ToolContent {
  const waits = subagents.map((subagent) => `- ${subagent.agent}: ${waitingNote(subagent)}`)
  const description = [
    'Sends a message to an instance that subagent_create has started. The agents:',
    ...waits,
  ].join('\n')
  const properties: Record<string, JSONSchema7> = {
    referenceId: { type: 'string', minLength: 1, description: 'The reference of the instance.' },
    message: { type: 'string', minLength: 1 },
    attachments: PATHS,
  }
  const required = ['referenceId', 'message', 'attachments']
  return {
    name: LIFECYCLE_TOOLS.message,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  }
}

/** Null if none of the agents takes arguments. */
function argumentsSchema(subagents: readonly SubagentContent[]): JSONSchema7 | null {
  const taking = subagents.filter(takesArguments)
  const place = '#/properties/arguments'
  const schemas = taking.map(({ agent, inputSchema }, index) => ({
    ...embedSchema(inputSchema, taking.length === 1 ? place : `${place}/anyOf/${index}`),
    description: `Arguments of the agent "${agent}".`,
  }))
  const [only, ...others] = schemas
  if (only === undefined || others.length === 0) return only ?? null
  return { anyOf: schemas, description: 'Arguments of the agent.' }
}

/** True if the agent's side A prompt has a schema with a property. */
export function takesArguments({ inputSchema }: Pick<SubagentContent, 'inputSchema'>): boolean {
  return Object.keys(inputSchema.properties ?? {}).length > 0
}

/**
 * Moves a schema to a place inside another one: its references to itself (`#`, in recursive schemas) point to the new place.
 * `pointer` is that place, such as `#/properties/items`.
 */
export function embedSchema(schema: JSONSchema7, pointer: string): JSONSchema7 {
  // Only the texts of references change.
  return moveReferences(schema, pointer) as JSONSchema7
}

function moveReferences(node: unknown, pointer: string): unknown {
  if (Array.isArray(node)) return node.map((part) => moveReferences(part, pointer))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]: [string, unknown]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#')
        ? [key, `${pointer}${value.slice(1)}`]
        : [key, moveReferences(value, pointer)],
    ),
  )
}
