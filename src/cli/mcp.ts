import { once } from 'node:events'
import type { ThreadClient } from '../client/index.js'
import { readOwnPackage } from '../dev/own-package.js'
import { checkMcpPackage, createMcpServer } from '../server/mcp/mcp-server.js'
import { listPublished } from '../server/mcp/published-agents.js'
import type { Command, Terminal } from './terminal.js'

/**
 * Serves the agents as tools over stdin and stdout, for an MCP client that starts this command. Whoever starts it may do what the store
 * allows: without `--account` it is an operator.
 */
export const mcp: Command = {
  usage: '[--agents NAME,NAME] [--account ID] [--user ID]',
  summary:
    'serve agents as tools for an MCP client such as Claude Code, over stdin and stdout; for the threads of an account, as a user of it',
  arguments: [],
  flags: { agents: 'string', account: 'string', user: 'string' },
  async run({ threads, terminal }, { flags }) {
    // At once: what the client has sent already waits in the stream.
    const streams = terminal.takeStreams()
    const { agents, account, user } = flags
    const names = typeof agents === 'string' ? agents.split(',').map((name) => name.trim()) : undefined
    await serve(threads, {
      ...{ terminal, streams, names: names?.filter((name) => name !== '') },
      caller: {
        account: typeof account === 'string' ? account : null,
        ...(typeof user === 'string' && { user }),
      },
    })
  },
}

interface Serving {
  readonly terminal: Terminal
  readonly streams: ReturnType<Terminal['takeStreams']>
  /** The agents that it offers. */
  readonly names: readonly string[] | undefined
  readonly caller: Parameters<typeof createMcpServer>[1]['caller']
}

/** Serves until the client closes the input, or until Ctrl-C or SIGTERM. */
async function serve(
  client: ThreadClient,
  { terminal, streams: { input, output }, names, caller }: Serving,
): Promise<void> {
  checkMcpPackage()
  const [sdk, stdio, { version }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
    readOwnPackage(),
  ])
  const closing = new AbortController()
  const fail = (error: unknown): void =>
    terminal.problem(error instanceof Error ? error.message : String(error))
  const handle = stdio.serveStdio(
    async () =>
      createMcpServer(sdk, {
        ...{ client, caller, version, closing: closing.signal, onFailure: fail },
        agents: await listPublished(client, names),
        admitMessage: (_threadId, work) => work(),
      }),
    { transport: new stdio.StdioServerTransport(input, output), onerror: fail },
  )
  const stop = (): void => closing.abort()
  const forget = terminal.onInterrupt(stop)
  process.on('SIGTERM', stop)
  input.resume()
  try {
    await Promise.race([once(input, 'close'), once(input, 'end'), once(closing.signal, 'abort')])
  } finally {
    closing.abort()
    forget()
    process.off('SIGTERM', stop)
    await handle.close()
  }
}
