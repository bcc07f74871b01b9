import { readFile } from 'node:fs/promises'
import type { ThreadClient } from '../client/index.js'
import { ConfigError } from '../protocol/errors.js'
import { serveThreads } from '../server/index.js'
import { namespaceUrl } from '../server/page.js'
import type { PageOptions, ThreadServer, Token, ToolWorker } from '../server/index.js'
import { readSweepTimes, SWEEP_FLAGS } from './sweep-times.js'
import type { Command, Terminal } from './terminal.js'

/** Serves threads over HTTP until Ctrl-C or SIGTERM. */
export const serve: Command = {
  usage:
    '[--port N] [--hostname NAME] [--tokens FILE] [--tool-workers FILE] [--no-page] [--temporal-ui URL] [--mcp] ' +
    '[--closed-for <time>] [--archived-for <time>] [--inactive-for <time>]',
  summary:
    'serve threads over HTTP; one a line: tokens with their account, those of tool workers with their task queues: ' +
    'FILE, or EVERTHREAD_TOKENS and EVERTHREAD_TOOL_WORKERS; and the page for people, with links to the Temporal UI; ' +
    '--mcp: the agents as tools for MCP clients, at /mcp; with a time: a sweep each hour, as `sweep` does it',
  arguments: [],
  flags: {
    ...{ port: 'string', hostname: 'string', tokens: 'string', 'tool-workers': 'string' },
    ...{ 'no-page': 'boolean', 'temporal-ui': 'string', mcp: 'boolean', ...SWEEP_FLAGS },
  },
  async run({ threads, terminal }, { flags }) {
    const tokens = readTokens(await readText('tokens', flags['tokens'], 'EVERTHREAD_TOKENS'))
    const listed = await readText('tool-workers', flags['tool-workers'], 'EVERTHREAD_TOOL_WORKERS')
    const toolWorkers = readToolWorkers(listed)
    const { hostname } = flags
    const page = flags['no-page'] === true ? false : pageOf(flags['temporal-ui'], threads)
    const sweep = readSweepTimes(flags)
    const server = await serveThreads({
      client: threads,
      tokens,
      toolWorkers,
      page,
      mcp: flags['mcp'] === true,
      port: portOf(flags['port']),
      ...(typeof hostname === 'string' && { hostname }),
      ...(Object.keys(sweep).length > 0 && { sweep }),
      log: (entry) => terminal.line(JSON.stringify(entry)),
    })
    const operators = tokens.filter(({ account }) => account === undefined).length
    const who = `${operators} of operators, ${tokens.length - operators} of accounts`
    const queues = [...new Set(toolWorkers.flatMap(({ taskQueues }) => taskQueues))].join(', ')
    const others = toolWorkers.length === 0 ? '' : `, ${toolWorkers.length} of tool workers (${queues})`
    terminal.line(
      `serving threads at ${server.url} (${page === false ? 'no page, ' : ''}document: ${server.url}/openapi.json); tokens: ${who}${others}`,
    )
    await serveUntilStopped(server, terminal)
  },
}

function portOf(given: unknown): number {
  const port = given === undefined ? 8080 : Number(given)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new ConfigError([`Expected --port to be a number from 0 to 65535, got "${String(given)}"`])
}

/** What the page links to: `--temporal-ui`, else EVERTHREAD_UI_URL; an address without a namespace gets the client's. */
function pageOf(given: unknown, threads: ThreadClient): PageOptions {
  const text = typeof given === 'string' ? given : (process.env['EVERTHREAD_UI_URL'] ?? '')
  if (text === '') return {}
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ConfigError([
      `Expected --temporal-ui or EVERTHREAD_UI_URL to be the http address of a Temporal UI, got "${text}".`,
    ])
  const address = text.replace(/\/+$/, '')
  if (url.pathname.includes('/namespaces/')) return { temporalUi: address }
  return { temporalUi: namespaceUrl(address, threads) }
}

/** Serves until Ctrl-C or SIGTERM. Then no request is accepted any more, streams end, and requests in flight are answered. */
function serveUntilStopped(server: ThreadServer, terminal: Terminal): Promise<void> {
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

/**
 * Parses the tokens of a file or of EVERTHREAD_TOKENS: `TOKEN ACCOUNT`; a token without an account is an operator's.
 * @throws ConfigError if there is none: the server itself refuses an invalid token
 */
export function readTokens(text: string): readonly Token[] {
  const tokens = parseTokenLines(text).map(({ token, words }) =>
    words.length === 0 ? { token } : { token, account: words.join(' ') },
  )
  if (tokens.length > 0) return tokens
  throw new ConfigError([
    'Expected tokens in EVERTHREAD_TOKENS, or in a file that --tokens names, got none: "TOKEN ACCOUNT", one a line; without ' +
      "an account it is an operator's. Make one with: openssl rand -hex 32",
  ])
}

/**
 * Parses the workers in other languages of a file or of EVERTHREAD_TOOL_WORKERS: `TOKEN QUEUE QUEUE …`, with the task queues
 * whose calls the token opens. The server itself refuses an invalid one.
 */
export function readToolWorkers(text: string): readonly ToolWorker[] {
  return parseTokenLines(text).map(({ token, words }) => ({ token, taskQueues: words }))
}

/** Reads the file that a flag names, else an environment variable. @throws ConfigError for a file that cannot be read */
async function readText(flag: string, file: unknown, variable: string): Promise<string> {
  if (typeof file !== 'string') return process.env[variable] ?? ''
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected --${flag} to name a file that can be read, got: ${reason}`])
  }
}

/**
 * Splits a text into tokens with the words behind them, one a line or separated by commas; lines that begin with # are
 * ignored.
 */
function parseTokenLines(text: string): readonly TokenLine[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [token = '', ...words] = line.split(/\s+/)
      return { token, words }
    })
}

interface TokenLine {
  readonly token: string
  readonly words: readonly string[]
}
