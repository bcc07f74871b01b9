/** The times of a sweep, as `sweep` and `serve` take them. */
import type { Duration } from '@temporalio/common'
import type { SweepThreads } from '../client/index.js'
import { ConfigError } from '../protocol/errors.js'

const SWEPT = {
  'closed-for': 'closedFor',
  'archived-for': 'archivedFor',
  'inactive-for': 'inactiveFor',
} as const

export const SWEEP_FLAGS = {
  'closed-for': 'string',
  'archived-for': 'string',
  'inactive-for': 'string',
} as const

type Times = Pick<SweepThreads, (typeof SWEPT)[keyof typeof SWEPT]>

/** Those that are given. @throws ConfigError for a time without a unit; the client refuses any other that cannot be read */
export function readSweepTimes(flags: Readonly<Record<string, unknown>>): Times {
  const times = Object.entries(SWEPT).flatMap(([flag, name]) => {
    const time = flags[flag]
    if (typeof time !== 'string') return []
    // A bare number means milliseconds: a number that was meant as days would delete nearly everything.
    if (!/[a-z]/i.test(time))
      throw new ConfigError([`Expected --${flag} with a unit, such as "90d", got "${time}".`])
    return [[name, time as Duration] as const]
  })
  return Object.fromEntries(times)
}
