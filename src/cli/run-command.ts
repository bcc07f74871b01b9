import { parseArgs } from 'node:util'

import type { Client } from '@temporalio/client'

import { ThreadClient } from '../client/index.js'
import type { Finding } from '../client/index.js'
import { dev } from '../dev/dev.js'
import { init } from '../dev/init.js'
import { readOwnPackage } from '../dev/own-package.js'
import { chat } from './chat.js'
import { inspect } from './inspect.js'
import { mcp } from './mcp.js'
import { serve } from './serve.js'
import { readSweepTimes, SWEEP_FLAGS } from './sweep-times.js'
import type { Command, Terminal } from './terminal.js'
import { listMissingSearchAttributes, translate } from '../client/connection.js'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { openStore, prepareStore } from '../store/open-store.js'
import { taskQueueOf } from '../store/store-location.js'
import { rotateSecrets as seal } from '../store/threads/variables.js'

/** Creates what threads need: the schema of the database and the search attributes. Repeating it changes nothing. */
const setup: Command = {
  usage: '[--new-store-id]',
  summary:
    'make the database and the search attributes ready; repeating it changes nothing; --new-store-id: for a copy of a ' +
    'database, whose open threads belong to the original',
  arguments: [],
  flags: { 'new-store-id': 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const { name, id } = await prepareStore({}, { newId: flags['new-store-id'] === true })
    terminal.line(`database: ready (${name})`)
    terminal.line(`store: ${id}, task queue "${taskQueueOf(id)}"`)
    const added = await addSearchAttributes(threads.temporal).catch((error: unknown) => {
      // The error belongs to no thread.
      throw translate(error, { client: threads.temporal, threadId: '' })
    })
    terminal.line(`search attributes: ready${added.length === 0 ? '' : ` (added ${added.join(', ')})`}`)
  },
}

function addSearchAttributes(client: Client): Promise<readonly string[]> {
  return client.withDeadline(Date.now() + LIMITS.temporalCall, async () => {
    const missing = await listMissingSearchAttributes(client)
    if (missing.length === 0) return []
    const { namespace } = client.options
    const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, type]))
    await client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes })
    return missing.map(({ name }) => name)
  })
}

/** Compares store and Temporal. Exit code 1 means that a finding is left unrepaired. */
export const doctor: Command = {
  usage: '[--fix [--reopen [--emptied]]] [--json]',
  summary: 'compare store and Temporal; --fix repairs what is safe, --reopen lost threads too',
  arguments: [],
  flags: { fix: 'boolean', reopen: 'boolean', emptied: 'boolean', json: 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const isJson = flags['json'] === true
    const has = (flag: string): boolean => flags[flag] === true
    const options = { fix: has('fix'), reopen: has('reopen'), emptied: has('emptied') }
    if ((options.reopen && !options.fix) || (options.emptied && !options.reopen)) {
      terminal.problem(
        'Expected --fix with --reopen, and --reopen with --emptied: alone they change nothing.',
      )
      return 2
    }
    if (!isJson) terminal.line(`Store ${await threads.storeId()}, task queue "${await threads.taskQueue()}".`)
    let [found, left] = [0, 0]
    for await (const finding of threads.doctor(options)) {
      found += 1
      if (!finding.fixed) left += 1
      terminal.line(isJson ? JSON.stringify(finding) : formatFinding(finding))
    }
    if (!isJson) terminal.line(summarize(found, left))
    return left === 0 ? 0 : 1
  },
}

function formatFinding({ kind, threadId, problem, fixed, remedy }: Finding): string {
  const whose = threadId === null ? '' : ` ${threadId}`
  return `${fixed ? 'fixed' : 'left'}  ${kind}${whose}: ${problem}. ${remedy}`
}

function summarize(found: number, left: number): string {
  if (found === 0) return 'Store and Temporal agree.'
  return `${found} found, ${found - left} fixed, ${left} left.`
}

/** Reopens a thread that `doctor` has found lost. */
const reopen: Command = {
  usage: '<thread>',
  summary: 'start a thread again that is lost: open in the store, closed in Temporal',
  arguments: ['thread'],
  flags: {},
  async run({ threads, terminal }, given) {
    const thread = await threads.reopen(given.arguments[0] ?? '')
    terminal.line(`reopened: ${thread.threadId}`)
  },
}

/** For a receiver that has lost what it had accepted. */
const redeliver: Command = {
  usage: '<webhook> <event>',
  summary: 'post the events of a webhook again from this one on, whose id was posted with it',
  arguments: ['webhook', 'event'],
  flags: {},
  async run({ threads, terminal }, given) {
    const [id = '', eventId = ''] = given.arguments
    const moved = await threads.webhooks.redeliver(id, eventId)
    if (moved === null) throw new ConfigError([`Expected the id of a webhook, got "${id}".`])
    terminal.line(`posted again, by the servers of the store: webhook ${id} from event ${eventId} on`)
  },
}

/** Retention: a scheduler should run it each day. */
export const sweep: Command = {
  usage: '[--closed-for <time>] [--archived-for <time>] [--inactive-for <time>] [--dry-run]',
  summary:
    'delete trees of threads that closed longer ago, such as "90d", or sessions that were archived longer ago, and files that no ' +
    'thread has; end sessions that nobody used for that time, such as "24h"',
  arguments: [],
  flags: { ...SWEEP_FLAGS, 'dry-run': 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const times = readSweepTimes(flags)
    if (Object.keys(times).length === 0)
      throw new ConfigError([
        'Expected --closed-for, --archived-for or --inactive-for with a time such as "90d", got none.',
      ])
    const dryRun = flags['dry-run'] === true
    const swept = await threads.sweep({ ...times, dryRun })
    const what = dryRun ? 'would be deleted' : 'deleted'
    terminal.line(`threads: ${swept.threads} in ${swept.trees} trees ${what}`)
    if (flags['inactive-for'] !== undefined)
      terminal.line(`sessions: ${swept.ended} ${dryRun ? 'would be ended' : 'ended'} that nobody used`)
    terminal.line(`files: ${swept.blobs} contents ${what}`)
    terminal.line(`errors: ${swept.errors} ${what}; plans: ${swept.plans} ${what}`)
    for (const { threadId, problem } of swept.kept)
      terminal.problem(`The history of "${threadId}" stays until Temporal's retention: ${problem}`)
    for (const { threadId, problem } of swept.failed)
      terminal.problem(`The tree of "${threadId}" could not be deleted or ended: ${problem}`)
    return swept.failed.length === 0 ? 0 : 1
  },
}

/**
 * Seals all secrets again after a new key was put first into EVERTHREAD_SECRET_KEY: then the other keys are not needed
 * any more.
 */
const rotateSecrets: Command = {
  usage: '',
  summary: 'seal all secrets with the first key of EVERTHREAD_SECRET_KEY; the other keys open the old ones',
  arguments: [],
  flags: {},
  async run({ terminal }) {
    const store = await openStore()
    try {
      terminal.line(`secrets: ${await seal(store)} sealed anew with the first key`)
    } finally {
      await store.close()
    }
  },
}

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    init,
    dev,
    setup,
    inspect,
    chat,
    serve,
    mcp,
    'rotate-secrets': rotateSecrets,
    doctor,
    reopen,
    redeliver,
    sweep,
  }),
)

/** Runs a command line and returns the exit code: 0, 1 for a failure, 2 for a command line that is invalid. */
export async function runCommand(line: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = line
  if (name === undefined || name === 'help' || line.includes('--help') || line.includes('-h')) {
    terminal.line(help())
    return 0
  }
  if (name === '--version') {
    terminal.line((await readOwnPackage()).version)
    return 0
  }
  const command = COMMANDS.get(name)
  const given = command === undefined ? null : parse(command, rest)
  if (command === undefined || given === null) {
    const wrong =
      command === undefined ? `There is no command "${name}".` : `Expected: ${formatUsage(name, command)}`
    terminal.problem(`${wrong}\n\n${help()}`)
    return 2
  }
  const threads = new ThreadClient({ onNotice: ({ message }) => terminal.problem(message) })
  try {
    return (await command.run({ threads, terminal }, given)) ?? 0
  } catch (error) {
    // Each error of ours is one sentence that says what to do; a stack would not help at a terminal.
    terminal.problem(error instanceof Error ? error.message : String(error))
    return 1
  } finally {
    await threads.close()
  }
}

type GivenArguments = Parameters<Command['run']>[1]

function parse(command: Command, line: readonly string[]): GivenArguments | null {
  const options = Object.fromEntries(Object.entries(command.flags).map(([flag, type]) => [flag, { type }]))
  try {
    const { positionals, values } = parseArgs({ args: [...line], options, allowPositionals: true })
    const most = command.arguments.length + (command.takesMore === true ? 1 : 0)
    if (positionals.length < command.arguments.length || positionals.length > most) return null
    return { arguments: positionals, flags: values as GivenArguments['flags'] }
  } catch {
    return null
  }
}

function help(): string {
  const lines = [...COMMANDS].map(([name, command]) => [formatUsage(name, command), command.summary] as const)
  lines.push(['everthread --version', 'the version of this package'])
  const width = Math.max(...lines.map(([usage]) => usage.length))
  return ['Usage:', ...lines.map(([usage, summary]) => `  ${usage.padEnd(width)}  ${summary}`)].join('\n')
}

function formatUsage(name: string, { usage }: Command): string {
  return `everthread ${name} ${usage}`.trim()
}
