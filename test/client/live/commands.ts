import type { ThreadHandle } from '../../../src/client/index.js'

const COMMANDS = {
  send: (thread) => thread.send('Hello'),
  queueTool: (thread) => thread.queueTool('look', { at: 'A-17' }),
  setEnv: (thread) => thread.setEnv({ KEY: 'one' }),
  stop: (thread) => thread.stop(),
  continue: (thread) => thread.continue(),
} satisfies Record<string, (thread: ThreadHandle) => Promise<unknown>>

export type CommandName = keyof typeof COMMANDS

export const COMMAND_NAMES = Object.keys(COMMANDS) as readonly CommandName[]

export function giveCommand(thread: ThreadHandle, name: CommandName): Promise<unknown> {
  return COMMANDS[name](thread)
}
