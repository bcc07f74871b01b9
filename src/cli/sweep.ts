import type { Duration } from '@temporalio/common'
import { ConfigError } from '../protocol/errors.js'
import type { Command } from './command.js'

/** Retention: to be run each day, by whatever runs such things. */
export const sweep: Command = {
  usage: '--closed-for <time> [--dry-run]',
  summary: 'delete trees of threads that closed longer ago, such as "90d", and files that no thread has',
  arguments: [],
  flags: { 'closed-for': 'string', 'dry-run': 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const closedFor = flags['closed-for']
    if (typeof closedFor !== 'string')
      throw new ConfigError(['Expected --closed-for with a time such as "90d", got none.'])
    // A bare number would be milliseconds, and what was meant as days is gone.
    if (!/[a-z]/i.test(closedFor))
      throw new ConfigError([`Expected --closed-for with a unit, such as "90d", got "${closedFor}".`])
    const dryRun = flags['dry-run'] === true
    // Read by the client, which refuses what is no time.
    const swept = await threads.sweep({ closedFor: closedFor as Duration, dryRun })
    const what = dryRun ? 'would be deleted' : 'deleted'
    terminal.line(`threads: ${swept.threads} in ${swept.trees} trees ${what}`)
    terminal.line(`files: ${swept.blobs} contents ${what}`)
    terminal.line(`errors: ${swept.errors} ${what}; plans: ${swept.plans} ${what}`)
    for (const { threadId, problem } of swept.kept)
      terminal.problem(`The history of "${threadId}" stays until Temporal's retention: ${problem}`)
    for (const { threadId, problem } of swept.failed)
      terminal.problem(`The tree of "${threadId}" could not be deleted: ${problem}`)
    return swept.failed.length === 0 ? 0 : 1
  },
}
