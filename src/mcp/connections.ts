/**
 * Connections to an MCP server.
 *
 * Owns: when a server is started or reached, the process of a stdio server, and the end of both. Does not own: what is sent.
 * Invariants: a process is started with the first request, one for this process, and ends with `close`; where this process is killed, the
 * input of the server closes, at which a server ends. A connection that has ended is made anew by the next request, but a program that has
 * ended three times within a minute is left alone for half a minute. Each attempt ends within `connectTimeout`. Where people have tokens of
 * their own, they have connections of their own.
 */
import type { AuthProvider, Client, Transport } from '@modelcontextprotocol/client'
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { SourceUser } from '../definitions/tool-source.js'
import { ToolError } from '../definitions/tool-error.js'
import { createLoginSession, hasLogins, loginOf } from './logins/logins.js'
import type { LoginSession } from './logins/logins.js'
import { connectError } from './mcp-errors.js'
import type { HttpServer, McpServer, StdioServer } from './server-options.js'
import { letTasksThrough, TASKS } from './tasks.js'

interface Connections {
  /** A connection that works for this user. @throws ToolError if there is none in time */
  get(user: SourceUser): Promise<Client>
  close(): Promise<void>
}

/** Connections of people that are open at once; the one that was not used for the longest time is closed. */
const MOST_CONNECTIONS = 64
const [CRASHES, WITHIN, PAUSE] = [3, 60_000, 30_000]
const CONNECT_TIMEOUT = 10_000
/** What a program wrote before it ended, at most so many characters of it. */
const TOLD = 1_000

export function createConnections(server: McpServer): Connections {
  // In the order of their last use.
  const open = new Map<string, Promise<Client>>()
  const sessions = new WeakMap<Promise<Client>, LoginSession>()
  const crashes: number[] = []
  const forget = (key: string, made: Promise<Client>): void => {
    if (open.get(key) === made) open.delete(key)
  }
  const start = (key: string, user: SourceUser): Promise<Client> => {
    refuseCrashing(server, crashes)
    const session = hasLogins(server) ? createLoginSession(server, loginOf(server, user)) : undefined
    const made: Promise<Client> = connect(server, { user, session }, () => {
      if (open.get(key) !== made) return
      forget(key, made)
      if ('command' in server) crashes.push(performance.now())
    })
    made.catch(() => forget(key, made))
    if (session !== undefined) sessions.set(made, session)
    return made
  }
  return {
    async get(user) {
      const key = keyOf(server, user)
      const known = open.get(key)
      const made = known ?? start(key, user)
      open.delete(key)
      open.set(key, made)
      const [[oldest, other] = []] = open
      if (open.size > MOST_CONNECTIONS && oldest !== undefined && other !== undefined) {
        open.delete(oldest)
        void other.then((client) => client.close()).catch(() => undefined)
      }
      // Another worker may have written other tokens, and a login that was forgotten counts no more.
      if (known !== undefined && hasLogins(server)) await sessions.get(known)?.open(loginOf(server, user))
      return made
    },
    async close() {
      const all = [...open.values()]
      open.clear()
      crashes.length = 0
      await Promise.allSettled(all.map(async (made) => (await made).close()))
    },
  }
}

function refuseCrashing(server: McpServer, crashes: number[]): void {
  const now = performance.now()
  while (crashes.length > 0 && (crashes[0] ?? 0) < now - WITHIN) crashes.shift()
  const last = crashes.at(-1) ?? 0
  if (crashes.length >= CRASHES && now - last < PAUSE)
    throw new ToolError(
      `The MCP server "${server.name}" has ended ${crashes.length} times within a minute: it is started again in half a minute.`,
      { category: 'transient', code: 'mcp_unreachable' },
    )
}

/** Whose connection it is: people whose tokens differ have different ones. */
function keyOf(server: McpServer, user: SourceUser): string {
  if (hasLogins(server)) return loginOf(server, user).key
  return 'tokens' in server ? JSON.stringify([user.account, user.user]) : ''
}

interface Connecting {
  readonly user: SourceUser
  readonly session: LoginSession | undefined
}

async function connect(server: McpServer, { user, session }: Connecting, onEnd: () => void): Promise<Client> {
  const { Client: McpClient } = await import('@modelcontextprotocol/client')
  const { connectTimeout: timeout = CONNECT_TIMEOUT } = server
  const client = new McpClient(
    { name: 'everthread', version: '1' },
    {
      capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } },
      // A server that does not answer the first request is one of before 2026-07-28, and gets the other half of the time.
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.ceil(timeout / 2) } },
      inputRequired: { autoFulfill: false },
      // Results are data for a model. A pattern of a hostile schema could occupy this process for ever.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
    },
  )
  // A server of before 2026-07-28 asks on the connection of its call, which ends with this process: nobody could answer tomorrow.
  client.setRequestHandler('elicitation/create', () => {
    throw new Error(
      'This client can ask a person only by a result "input_required" of MCP 2026-07-28, so nobody was asked.',
    )
  })
  const { transport, told } =
    'command' in server
      ? await stdioTransport(server)
      : await httpTransport(server, session ?? tokensFor(server, user))
  const abort = new AbortController()
  const late = setTimeout(
    () => abort.abort(new Error(`it did not answer within ${timeout / 1000} seconds`)),
    timeout,
  )
  try {
    const { signal } = abort
    if (session !== undefined && hasLogins(server)) await session.open(loginOf(server, user))
    await Promise.race([client.connect(transport, { timeout, signal }), rejectAt(signal)])
    letTasksThrough(transport)
    client.onclose = onEnd
    return client
  } catch (error) {
    void client.close().catch(() => undefined)
    void transport.close().catch(() => undefined)
    throw connectError(server.name, error, told())
  } finally {
    clearTimeout(late)
  }
}

function rejectAt(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

interface MadeTransport {
  readonly transport: Transport
  /** What a program has written to its error output. */
  readonly told: () => string
}

async function stdioTransport({ command, args = [], env = {}, cwd }: StdioServer): Promise<MadeTransport> {
  const stdio = await import('@modelcontextprotocol/client/stdio')
  const transport: StdioClientTransport = new stdio.StdioClientTransport({
    ...{ command, args: [...args], env: { ...stdio.getDefaultEnvironment(), ...env }, stderr: 'pipe' },
    ...(cwd !== undefined && { cwd }),
  })
  let told = ''
  // It is read in any case: a full pipe would stop the program.
  transport.stderr?.on('data', (chunk: Buffer) => {
    told = `${told}${chunk.toString()}`.slice(-TOLD)
  })
  return { transport, told: () => told.trim() }
}

function tokensFor(server: HttpServer, user: SourceUser): AuthProvider | undefined {
  return server.tokens === undefined ? undefined : { token: () => tokenOf(server, user) }
}

async function httpTransport(
  { url, headers = {} }: HttpServer,
  authProvider: AuthProvider | undefined,
): Promise<MadeTransport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...{ requestInit: { headers: { ...headers } }, fetch: boundedFetch },
    ...(authProvider !== undefined && { authProvider }),
    onInsufficientScope: 'throw',
  })
  return { transport, told: () => '' }
}

async function tokenOf({ name, tokens }: HttpServer, user: SourceUser): Promise<string> {
  const token = await tokens?.(user)
  if (typeof token === 'string' && token !== '') return token
  const who = user.user === null ? 'a thread without a user' : `the user "${user.user}"`
  throw new ToolError(`The MCP server "${name}" wants a login, and ${who} has no token for it.`, {
    ...{ category: 'permission', code: 'mcp_no_token' },
  })
}

/** Bytes of one answer, or of one stream of events: a result of the runtime's own bound in base64, and the words around it. */
const MOST_BYTES = 32 * 1024 * 1024

/** `fetch`, whose bodies end with an error beyond 32 MB. The MCP client reads them whole. */
async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (response.body === null) return response
  let bytes = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MOST_BYTES) controller.error(new Error(`The answer has more than ${MOST_BYTES} bytes.`))
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  const bounded = new Response(response.body.pipeThrough(counting), { status, statusText, headers })
  // The client compares where a redirect has led to.
  Object.defineProperties(bounded, {
    url: { value: response.url },
    redirected: { value: response.redirected },
    type: { value: response.type },
  })
  return bounded
}
