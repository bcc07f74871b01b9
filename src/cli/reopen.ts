import type { Command } from './command.js'

/** One thread that `doctor` found lost. */
export const reopen: Command = {
  usage: '<thread>',
  summary: 'start a thread again that is lost: open in the store, closed in Temporal',
  arguments: ['thread'],
  flags: {},
  async run({ threads, terminal }, given) {
    const thread = await threads.reopen(given.arguments[0] ?? '')
    terminal.line(`reopened: ${thread.threadId}`)
  },
}
