import { ConfigError } from '../protocol/errors.js'
import { serveThreads } from '../server/index.js'
import type { ThreadServer } from '../server/index.js'
import type { Command } from './command.js'
import { readTokens } from './read-tokens.js'
import { readToolWorkers } from './read-tool-workers.js'
import type { Terminal } from './terminal.js'
import { textOf } from './token-lines.js'

/** Serves threads over HTTP until the process is asked to end. */
export const serve: Command = {
  usage: '[--port N] [--hostname NAME] [--tokens FILE] [--tool-workers FILE]',
  summary:
    'serve threads over HTTP; one a line: tokens with their account, those of tool workers with their task queues: ' +
    'FILE, or EVERTHREAD_TOKENS and EVERTHREAD_TOOL_WORKERS',
  arguments: [],
  flags: { port: 'string', hostname: 'string', tokens: 'string', 'tool-workers': 'string' },
  async run({ threads, terminal }, { flags }) {
    const tokens = readTokens(await textOf('tokens', flags['tokens'], 'EVERTHREAD_TOKENS'))
    const listed = await textOf('tool-workers', flags['tool-workers'], 'EVERTHREAD_TOOL_WORKERS')
    const toolWorkers = readToolWorkers(listed)
    const { hostname } = flags
    const server = await serveThreads({
      client: threads,
      tokens,
      toolWorkers,
      port: portOf(flags['port']),
      ...(typeof hostname === 'string' && { hostname }),
      log: (entry) => terminal.line(JSON.stringify(entry)),
    })
    const operators = tokens.filter(({ account }) => account === undefined).length
    const who = `${operators} of operators, ${tokens.length - operators} of accounts`
    const queues = [...new Set(toolWorkers.flatMap(({ taskQueues }) => taskQueues))].join(', ')
    const others = toolWorkers.length === 0 ? '' : `, ${toolWorkers.length} of tool workers (${queues})`
    terminal.line(
      `serving threads at ${server.url} (document: ${server.url}/openapi.json); tokens: ${who}${others}`,
    )
    await untilAsked(server, terminal)
  },
}

function portOf(given: unknown): number {
  const port = given === undefined ? 8080 : Number(given)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new ConfigError([`Expected --port to be a number from 0 to 65535, got "${String(given)}"`])
}

/** Ctrl-C and SIGTERM: nothing new is taken, streams end, what is in flight is answered. */
function untilAsked(server: ThreadServer, terminal: Terminal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      forget()
      process.off('SIGTERM', stop)
      server.close().then(resolve, reject)
    }
    const forget = terminal.onInterrupt(stop)
    process.on('SIGTERM', stop)
  })
}
