import type { Registry } from '../../definitions/registry.js'
import type { ThreadState } from '../../definitions/thread-state.js'

type DefinitionMembers = Pick<
  ThreadState,
  'loadAgent' | 'loadPrompt' | 'loadModel' | 'getAgentNames' | 'getPromptNames' | 'getModelNames'
>

/** The definitions of this worker, as they are now: a run keeps those that it started with. */
export function createDefinitionMembers(registry: Registry): DefinitionMembers {
  return {
    loadAgent: async (name) => found(registry.agent(name), 'agent', name),
    loadPrompt: async (name) => found(registry.prompt(name), 'prompt', name),
    loadModel: async (name) => found(registry.model(name), 'model', name),
    getAgentNames: () => [...registry.names().agents],
    getPromptNames: () => [...registry.names().prompts],
    getModelNames: () => [...registry.names().models],
  }
}

function found<Definition>(definition: Definition | undefined, kind: string, name: unknown): Definition {
  if (definition !== undefined) return definition
  throw new Error(`Expected the name of a registered ${kind}, got "${String(name)}", which is none.`)
}
