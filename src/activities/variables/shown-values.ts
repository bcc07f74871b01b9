import type { ActivityDependencies } from '../dependencies.js'
import { resolveVariables } from './resolve-variables.js'
import type { VariableScope } from './resolve-variables.js'

/** The values of these variables that anybody may see: those without a value and secrets (T5) are left out. */
export async function shownValues(
  dependencies: ActivityDependencies,
  scope: VariableScope,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await resolveVariables(dependencies, scope, [...new Set(names)])
  return new Map([...found].flatMap(([name, { type, open }]) => (type === 'text' ? [[name, open()]] : [])))
}
