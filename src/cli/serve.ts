import { readFile } from 'node:fs/promises'

import { ConfigError } from '../protocol/config-error.js'
import { serveThreads } from '../server/index.js'
import type { ThreadServer } from '../server/index.js'
import type { Command } from './command.js'
import { readTokens } from './read-tokens.js'
import type { Terminal } from './terminal.js'

/** Serves threads over HTTP until the process is asked to end. */
export const serve: Command = {
  usage: '[--port N] [--hostname NAME] [--tokens FILE]',
  summary: 'serve threads over HTTP; tokens, one a line with its account: FILE, or EVERTHREAD_TOKENS',
  arguments: [],
  flags: { port: 'string', hostname: 'string', tokens: 'string' },
  async run({ threads, terminal }, { flags }) {
    const tokens = readTokens(await tokenText(flags['tokens']))
    const { hostname } = flags
    const server = await serveThreads({
      client: threads,
      tokens,
      port: portOf(flags['port']),
      ...(typeof hostname === 'string' && { hostname }),
      log: (entry) => terminal.line(JSON.stringify(entry)),
    })
    const operators = tokens.filter(({ account }) => account === undefined).length
    const who = `${operators} of operators, ${tokens.length - operators} of accounts`
    terminal.line(`serving threads at ${server.url} (document: ${server.url}/openapi.json); tokens: ${who}`)
    await untilAsked(server, terminal)
  },
}

async function tokenText(file: unknown): Promise<string> {
  if (typeof file !== 'string') return process.env['EVERTHREAD_TOKENS'] ?? ''
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected --tokens to name a file that can be read, got: ${reason}`])
  }
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
