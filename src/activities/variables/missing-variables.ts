import type { PlanContent } from '../../definitions/plan-content.js'
import type { ActivityDependencies } from '../dependencies.js'
import { resolveVariables } from './resolve-variables.js'
import type { VariableScope } from './resolve-variables.js'

/** What a prompt cannot run without, and what of it has no value. */
export interface RequiredVariables {
  readonly required: readonly string[]
  readonly missing: readonly string[]
}

/** Looks for the values that a prompt, its tools, and the prompts among them require. Opens none. */
export async function missingVariables(
  dependencies: ActivityDependencies,
  scope: VariableScope & { readonly content: PlanContent; readonly prompt: string },
): Promise<RequiredVariables> {
  const required = requiredNames(scope.content, scope.prompt)
  const found = await resolveVariables(dependencies, scope, required)
  return { required, missing: required.filter((name) => !found.has(name)) }
}

function requiredNames(content: PlanContent, first: string): readonly string[] {
  const names = new Set<string>()
  const seen = new Set<string>()
  const waiting = [first]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const prompt = seen.has(name) ? undefined : content.prompts[name]
    seen.add(name)
    if (prompt === undefined) continue
    for (const variable of prompt.variables) if (variable.required) names.add(variable.name)
    waiting.push(...Object.values(prompt.subprompts).map((nested) => nested.prompt))
  }
  return [...names]
}
