/**
 * Sweeps in a server: what `threads.sweep` does, again and again.
 *
 * Owns: when a server sweeps. Does not own: what a sweep ends and deletes (`client/retention`). Any number of servers may sweep a store: what
 * one has done is nothing to do for the next.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadClient } from '../client/index.js'
import { checkSweep, parseTime } from '../client/retention/sweep-threads.js'
import type { SweepThreads, SweptThreads } from '../client/retention/sweep-threads.js'
import { ConfigError } from '../protocol/errors.js'

/** What a server ends and deletes, and how often. A time that is left out ends or deletes nothing. */
export interface Sweeping extends Pick<SweepThreads, 'closedFor' | 'archivedFor' | 'inactiveFor'> {
  /** From the end of one sweep to the beginning of the next, at least a minute. @default '1h' */
  readonly every?: NonNullable<SweepThreads['closedFor']>
  /** Gets what each sweep has done. One that failed is a warning of the process, and the next one tries again. */
  readonly onSwept?: (swept: SweptThreads) => void
}

const MINUTE = 60_000
/** The longest timer of Node. */
const LONGEST = 2 ** 31 - 1

/** @throws ConfigError */
export function checkSweeping({ every = '1h', ...sweep }: Sweeping): void {
  const { closedFor, archivedFor, inactiveFor } = sweep
  if (closedFor === undefined && archivedFor === undefined && inactiveFor === undefined)
    throw new ConfigError([
      'Expected "sweep" with "closedFor", "archivedFor" or "inactiveFor", got none: what should it end or delete?',
    ])
  checkSweep(sweep)
  const pause = parseTime('every', every)
  if (pause < MINUTE || pause > LONGEST)
    throw new ConfigError([`Expected "every" to be from a minute to 24 days, got ${JSON.stringify(every)}.`])
}

/** Sweeps now and after each pause, until the signal aborts. */
export async function sweepUntil(
  client: Pick<ThreadClient, 'sweep'>,
  { every = '1h', onSwept, ...sweep }: Sweeping,
  signal: AbortSignal,
  rest: typeof pauseFor = pauseFor,
): Promise<void> {
  const pause = parseTime('every', every)
  while (!signal.aborted) {
    try {
      onSwept?.(await client.sweep(sweep))
    } catch (error) {
      if (signal.aborted) return
      process.emitWarning(`A sweep failed: ${error instanceof Error ? error.message : String(error)}`)
    }
    // Not the same moment for servers that began together.
    if (!signal.aborted) await rest(pause * (0.9 + Math.random() / 10), signal)
  }
}

/** Ends at once when the signal aborts. */
async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
}
