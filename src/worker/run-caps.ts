import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { RunCaps } from '../protocol/plan.js'

const NAMES = ['stepsPerRun', 'sessionTurns', 'repeatedToolErrors'] as const

/** The hard caps of a worker: its own limits where it sets any. @throws ConfigError naming each that is no count */
export function runCaps(limits: Partial<RunCaps> = {}): RunCaps {
  const problems = NAMES.flatMap((name) => {
    const value = limits[name]
    if (value === undefined || (Number.isInteger(value) && value >= 1)) return []
    return [`Expected limits.${name} to be a whole number from 1, got ${String(value)}.`]
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    stepsPerRun: limits.stepsPerRun ?? LIMITS.stepsPerRun,
    sessionTurns: limits.sessionTurns ?? LIMITS.sessionTurns,
    repeatedToolErrors: limits.repeatedToolErrors ?? LIMITS.repeatedToolErrors,
  }
}
