import type { Command } from '../cli/terminal.js'

/** Temporal, a worker that follows the files, and the HTTP server: until `q` or Ctrl-C. */
export const dev: Command = {
  usage: '[FILE] [--port N]',
  summary:
    'start Temporal, a worker and the HTTP server for the agents of FILE (agents.ts), and deploy each change; q ends all of it',
  arguments: [],
  takesMore: true,
  flags: { port: 'string' },
  async run({ terminal }, { arguments: [file], flags }) {
    // Only this command needs what it loads.
    const { runDev } = await import('./run-dev.js')
    const { port } = flags
    return runDev({ terminal, file, port: typeof port === 'string' ? port : undefined })
  },
}
