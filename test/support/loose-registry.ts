import { z } from 'zod'
import { registry } from '../../src/definitions/registry.js'
import { ConfigError } from '../../src/protocol/errors.js'

/** What users of JavaScript can write: the compiler stands in nobody's way here. */
export type Loose = Readonly<Record<string, unknown>>

/** Sound definitions. */
export const model = { name: 'chat', provider: { languageModel: () => undefined }, model: 'large' }
export const done = {
  description: 'Ends.',
  args: z.object({ text: z.string(), files: z.array(z.string()) }),
  execute,
}
export const desk = {
  name: 'desk',
  toolDescription: 'Desk',
  prompt: 'Help.',
  model: 'chat',
  includeChat: true,
  tools: ['done'],
}
export const support = { name: 'support', sideA: { prompt: 'desk' } }
export const research = {
  name: 'research',
  type: 'dual_ai',
  maxSessionTurns: 4,
  exposeAsTool: true,
  toolDescription: 'Researches.',
  sideA: { prompt: 'desk', sessionStop: 'done' },
  sideB: { prompt: 'desk' },
}

function execute() {
  return { status: 'success' }
}

/** A registry of these definitions, and of sound ones for each kind that is not given. */
export function build(definitions: Loose) {
  const all: unknown = {
    agents: [support],
    prompts: [desk],
    models: [model],
    tools: { done },
    ...definitions,
  }
  return registry(all as Parameters<typeof registry>[0])
}

/** Everything that is wrong with them, in the order in which it is reported. */
export function problems(definitions: Loose): readonly string[] {
  try {
    build(definitions)
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

/** Of one agent alone. */
export const agentProblems = (agent: Loose) => problems({ agents: [agent] })
/** Of the prompt `desk` with these fields. */
export const promptProblems = (prompt: Loose) =>
  problems({ prompts: [{ ...desk, ...prompt }], agents: [support, research] })
/** Of the tool `done` with these fields. */
export const toolProblems = (tool: Loose) => problems({ tools: { done: { ...done, ...tool } } })
