import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { ThreadClient } from '../client/index.js'
import { chat } from './chat.js'
import { inspect } from './inspect.js'
import { operatorCommands } from './operator-commands.js'
import { serve } from './serve.js'
import type { Command, GivenArguments, Terminal } from './terminal.js'

const { setup, rotateSecrets, doctor, reopen, sweep } = operatorCommands

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    setup,
    inspect,
    chat,
    serve,
    'rotate-secrets': rotateSecrets,
    doctor,
    reopen,
    sweep,
  }),
)

/** Runs what the command line says; answers the exit code: 0, 1 for what failed, 2 for what cannot be understood. */
export async function runCommand(line: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = line
  if (name === undefined || name === 'help' || line.includes('--help') || line.includes('-h')) {
    terminal.line(help())
    return 0
  }
  if (name === '--version') {
    terminal.line(await packageVersion())
    return 0
  }
  const command = COMMANDS.get(name)
  const given = command === undefined ? null : parse(command, rest)
  if (command === undefined || given === null) {
    const wrong =
      command === undefined ? `There is no command "${name}".` : `Expected: ${shown(name, command)}`
    terminal.problem(`${wrong}\n\n${help()}`)
    return 2
  }
  const threads = new ThreadClient({ onNotice: ({ message }) => terminal.problem(message) })
  try {
    return (await command.run({ threads, terminal }, given)) ?? 0
  } catch (error) {
    // Each error of ours is one sentence that says what to do; a stack helps nobody at a terminal.
    terminal.problem(error instanceof Error ? error.message : String(error))
    return 1
  } finally {
    await threads.close()
  }
}

/** The package's own file is two folders up, from the sources as from what is built of them. */
async function packageVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  // Written by us.
  return (JSON.parse(text) as { readonly version: string }).version
}

function parse(command: Command, line: readonly string[]): GivenArguments | null {
  const options = Object.fromEntries(Object.entries(command.flags).map(([flag, type]) => [flag, { type }]))
  try {
    const { positionals, values } = parseArgs({ args: [...line], options, allowPositionals: true })
    if (positionals.length !== command.arguments.length) return null
    return { arguments: positionals, flags: values as GivenArguments['flags'] }
  } catch {
    return null
  }
}

function help(): string {
  const lines = [...COMMANDS].map(([name, command]) => [shown(name, command), command.summary] as const)
  lines.push(['everthread --version', 'the version of this package'])
  const width = Math.max(...lines.map(([usage]) => usage.length))
  return ['Usage:', ...lines.map(([usage, summary]) => `  ${usage.padEnd(width)}  ${summary}`)].join('\n')
}

function shown(name: string, { usage }: Command): string {
  return `everthread ${name} ${usage}`.trim()
}
