import type { ThreadClient } from '../client/index.js'
import type { Terminal } from './terminal.js'

/** What a command works with: the store and the Temporal server of the environment. */
export interface CommandContext {
  readonly threads: ThreadClient
  readonly terminal: Terminal
}

/** One subcommand. `flags` are those that it takes, besides its arguments. */
export interface Command {
  /** Its arguments, as help shows them. */
  readonly usage: string
  readonly summary: string
  readonly arguments: readonly string[]
  readonly flags: Readonly<Record<string, 'boolean' | 'string'>>
  /** Answers the exit code, where it is not 0. */
  run(context: CommandContext, given: GivenArguments): Promise<number | void>
}

export interface GivenArguments {
  readonly arguments: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
}
