import type { PromptContent, SystemPart } from '../../definitions/plan-content.js'
import type { ActivityDependencies } from '../dependencies.js'
import { resolveVariables } from './resolve-variables.js'
import type { ResolvedVariable, VariableScope } from './resolve-variables.js'

/** A prompt whose system text is words only: variables are resolved anew at each step. */
export async function withVariables<Prompt extends PromptContent & { readonly name: string }>(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Prompt,
): Promise<Prompt> {
  const names = prompt.system.flatMap((part) => (part.type === 'env' ? [part.property] : []))
  if (names.length === 0) return prompt
  const values = await resolveVariables(dependencies, { ...scope, prompt: prompt.name }, [...new Set(names)])
  return {
    ...prompt,
    system: [{ type: 'text', content: renderSystem(prompt.system, (name) => values.get(name)) }],
  }
}

/** T5: a secret never gets into a prompt; neither does a name that has no value. */
function renderSystem(
  parts: readonly SystemPart[],
  resolve: (name: string) => ResolvedVariable | undefined,
): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.content
      const found = resolve(part.property)
      return found?.type === 'text' ? found.open() : ''
    })
    .join('')
}
