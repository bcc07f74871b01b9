import type { AgentDefinition } from './agent.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolDefinition } from './tool.js'

import { agentProblems, agentWarnings } from './agent-problems.js'
import { argumentSchemaProblems } from './argument-schema.js'
import { DEFINITION_SHAPES } from './definition-shapes.js'
import { duplicateNames, KIND_WORDS, nameOf, nameWarnings } from './name-problems.js'
import { promptProblems } from './prompt-problems.js'
import { shapeProblems } from './shape-problems.js'
import { withoutProblems } from './without-problems.js'

type ListKind = 'agents' | 'prompts' | 'models'

export interface Findings {
  readonly problems: readonly string[]
  /** What is allowed but probably not meant. */
  readonly warnings: readonly string[]
}

/** Checks all that `registry()` was given. It trusts no type: definitions also come from JavaScript and from casts. */
export function checkDefinitions(input: unknown): Findings {
  const problems = [...shapeProblems(DEFINITION_SHAPES.registry, input, 'registry')]
  const lists = {
    agents: listOf(input, 'agents'),
    prompts: listOf(input, 'prompts'),
    models: listOf(input, 'models'),
  }
  const givenTools = toolsOf(input)
  const agents = soundDefinitions<AgentDefinition>(lists.agents, 'agents', problems)
  const prompts = soundDefinitions<PromptDefinition>(lists.prompts, 'prompts', problems)
  soundDefinitions(lists.models, 'models', problems)
  const tools = soundTools(givenTools, problems)
  const names = {
    agents: namesOf(lists.agents),
    prompts: namesOf(lists.prompts),
    models: namesOf(lists.models),
    tools: new Set(Object.keys(givenTools)),
  }
  const known = { names, agents, prompts, tools }

  for (const [name, { args }] of tools) {
    if (args !== undefined) problems.push(...argumentSchemaProblems(args, `tool '${name}': args`))
  }
  for (const prompt of prompts.values()) problems.push(...promptProblems(prompt, known))
  for (const agent of agents.values()) problems.push(...agentProblems(agent, known))
  return { problems, warnings: [...nameWarnings(names), ...[...agents.values()].flatMap(agentWarnings)] }
}

function listOf(input: unknown, kind: ListKind): readonly unknown[] {
  const list = isRecord(input) ? input[kind] : undefined
  return Array.isArray(list) ? list : []
}

function toolsOf(input: unknown): Readonly<Record<string, unknown>> {
  const tools = isRecord(input) ? input['tools'] : undefined
  return isRecord(tools) ? tools : {}
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function namesOf(definitions: readonly unknown[]): ReadonlySet<string> {
  return new Set(definitions.flatMap((definition) => nameOf(definition) ?? []))
}

/** The definitions of a kind by name, without the fields that are wrong; those go to `problems`. */
function soundDefinitions<Definition>(
  definitions: readonly unknown[],
  kind: ListKind,
  problems: string[],
): ReadonlyMap<string, Definition> {
  const word = KIND_WORDS[kind]
  const sound = new Map<string, Definition>()
  for (const [index, definition] of definitions.entries()) {
    const name = nameOf(definition)
    const found = shapeProblems(
      DEFINITION_SHAPES[word],
      definition,
      name === undefined || name === '' ? `${kind}[${index}]` : `${word} '${name}'`,
    )
    problems.push(...found)
    const rest = withoutProblems(DEFINITION_SHAPES[word], definition)
    // The shape of what is left was checked just now.
    if (rest !== undefined && name !== undefined) sound.set(name, rest as Definition)
  }
  problems.push(...duplicateNames(definitions, word))
  return sound
}

function soundTools(
  tools: Readonly<Record<string, unknown>>,
  problems: string[],
): ReadonlyMap<string, ToolDefinition> {
  const sound = new Map<string, ToolDefinition>()
  for (const [name, definition] of Object.entries(tools)) {
    const owner = `tool '${name}'`
    const found = [
      ...shapeProblems(DEFINITION_SHAPES.toolName, name, `the name of ${owner}`),
      ...shapeProblems(DEFINITION_SHAPES.tool, definition, owner),
    ]
    problems.push(...found)
    // The shape was checked just now.
    if (found.length === 0) sound.set(name, definition as ToolDefinition)
  }
  return sound
}
