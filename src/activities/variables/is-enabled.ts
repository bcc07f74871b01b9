import type { ActivityDependencies } from '../dependencies.js'
import { resolveVariables } from './resolve-variables.js'
import type { VariableScope } from './resolve-variables.js'

const ON: ReadonlySet<string> = new Set(['true', '1', 'yes'])

/** Whether the variable that switches a subagent on does so now; without one it is on. */
export async function isEnabled(
  dependencies: ActivityDependencies,
  scope: VariableScope,
  flag: string | null,
): Promise<boolean> {
  if (flag === null) return true
  const value = (await resolveVariables(dependencies, scope, [flag])).get(flag)
  return value !== undefined && ON.has(value.open().trim().toLowerCase())
}
