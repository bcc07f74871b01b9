import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { afterEach } from 'vitest'

import { mcpServer } from '../../src/mcp/index.js'
import type { McpServer as Options } from '../../src/mcp/index.js'
import type { JsonObject, SourceCall, SourceTool, ToolResult, ToolSource } from '../../src/index.js'

export const EVERYTHING = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
} as const

const signal = new AbortController().signal
const USER = { threadId: 'mcp', agent: 'guide', account: null, user: null } as const

/** Nobody watches. */
const REPORTS = { progress: () => undefined, output: () => undefined } as const

/** Lists the tools of a source, as the first step of a run does. */
export const listOf = (source: ToolSource, user: Partial<Parameters<ToolSource['list']>[0]> = {}) =>
  source.list({ ...USER, signal, ...user })

/** Calls a tool, as a call of a thread does. */
export async function callOf(
  source: ToolSource,
  name: string,
  { args = {}, ...given }: Partial<SourceCall> = {},
): Promise<unknown> {
  const tool: SourceTool = { name, description: name, inputSchema: { type: 'object' } }
  return source.call({
    ...{
      ...USER,
      ...REPORTS,
      tool,
      args,
      id: 'call_1_1_0',
      attempt: 1,
      idempotencyKey: 'mcp:call_1_1_0',
      signal,
    },
    ...given,
  })
}

/** Goes on with a call, as the next part of it does. */
export async function resumeOf(
  source: ToolSource,
  name: string,
  {
    args,
    resume,
    answer,
    user = null,
  }: {
    readonly args: JsonObject
    readonly resume: object
    readonly answer: ToolResult | null
    readonly user?: string | null
  },
): Promise<unknown> {
  const tool: SourceTool = { name, description: name, inputSchema: { type: 'object' } }
  const call = { id: 'call_1_1_0', attempt: 1, idempotencyKey: 'mcp:call_1_1_0', signal }
  const given = { tool, args, answer, resume: resume as JsonObject }
  return source.resume?.({ ...USER, ...REPORTS, ...call, ...given, user })
}

/** An HTTP server of a test, whose URL is known. */
export async function serveHttp(
  listener: RequestListener,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** The official server of 2026-07-28 over HTTP; `look` sees each request first, and may answer it. */
export function serveMcp(
  register: (server: McpServer) => void,
  look: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): ReturnType<typeof serveHttp> {
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: 'test-server', version: '1' }, { capabilities: { tools: {} } })
    register(server)
    return server
  })
  return serveHttp((request, response) => {
    if (look(request, response)) return
    void answer(request, response, fetch)
  })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = 'GET', headers, url = '/' } = request
  const body =
    method === 'GET' ? {} : { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' as const }
  const given = new Request(`http://127.0.0.1${url}`, {
    method,
    headers: headers as Record<string, string>,
    ...body,
  })
  const made = await fetch(given)
  response.writeHead(made.status, Object.fromEntries(made.headers))
  if (made.body === null) response.end()
  else Readable.fromWeb(made.body as never).pipe(response)
}

/** Sources and servers that end with their test. Call it once in a file. */
export function sourcesOfTests() {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    await Promise.all(ends.splice(0).map((end) => end()))
  })
  const ending = async (starting: ReturnType<typeof serveHttp>): Promise<string> => {
    const { url, close } = await starting
    ends.push(close)
    return url
  }
  return {
    source(options: Options): ToolSource {
      const made = mcpServer(options)
      ends.push(async () => made.close?.())
      return made
    },
    serving: (...given: Parameters<typeof serveMcp>) => ending(serveMcp(...given)),
    answering: (listener: RequestListener) => ending(serveHttp(listener)),
  }
}
