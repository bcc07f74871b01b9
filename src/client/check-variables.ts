import { LIMITS } from '../protocol/limits.js'
import { isObject, variableNameProblem, variableValueProblem } from '../protocol/values.js'

/** Says what is wrong with values of variables, or nothing; never a value itself. */
export function variablesProblem(values: unknown): string | undefined {
  if (!isObject(values)) return `Expected variables as { name: value }, got ${kindOf(values)}.`
  const entries = Object.entries(values)
  if (entries.length > LIMITS.startNames)
    return `Expected at most ${LIMITS.startNames} variables at once, got ${entries.length}: give them in parts.`
  for (const [name, value] of entries) {
    const problem = variableNameProblem(name) ?? variableValueProblem(name, value)
    if (problem !== undefined) return problem
  }
  return undefined
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : typeof value
}
