import { ConfigError } from '../protocol/errors.js'
import { variableNameProblem, variableValueProblem } from '../protocol/values.js'

/** Values of variables for every thread of a worker; what is undefined is not set, as in `process.env`. */
export type InstanceEnv = Readonly<Record<string, string | undefined>>

/** @throws ConfigError naming every variable that cannot be one; never a value */
export function instanceEnv(env: InstanceEnv = {}): Readonly<Record<string, string>> {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const problems = values.flatMap(
    ([name, value]) => variableNameProblem(name) ?? variableValueProblem(name, value) ?? [],
  )
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `env: ${problem}`))
  return Object.fromEntries(values)
}
