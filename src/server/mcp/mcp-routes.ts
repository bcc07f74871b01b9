/**
 * The MCP server over HTTP: `/mcp` of the server, for callers with a token of an account or an operator.
 * Owns: which origins may call it, and how a request gets its tools. Does not own: who calls (`tokens.ts`), limits, and the protocol.
 * Invariant: it keeps no session: any server of the store answers the next request.
 */
import { ConfigError } from '../../protocol/errors.js'
import { withoutUndefined } from '../../protocol/values.js'
import { ProblemError } from '../error-response.js'
import type { ServerContext, ThreadApp, ThreadContext } from '../server-context.js'
import { checkMcpPackage, createMcpServer } from './mcp-server.js'
import { listPublished } from './published-agents.js'

/** The MCP server at `/mcp`. */
export interface McpOptions {
  /** The agents that clients may start. @default those that workers have recorded and that talk with a person */
  readonly agents?: readonly string[]
  /**
   * Where people log in, for clients that have no token, such as ChatGPT: they are sent there, and come back with a token that your
   * `authenticate` has to check. @default none: clients have a token already
   */
  readonly login?: McpLogin
}

/** An OAuth 2.1 login of your own. */
export interface McpLogin {
  /** The address of `/mcp` as clients know it: `https://agents.example/mcp`. */
  readonly resource: string
  /** The issuers of the tokens, with the metadata of RFC 8414. */
  readonly authorizationServers: readonly string[]
  /** What a client asks for. */
  readonly scopes?: readonly string[]
}

interface McpRoutes extends McpOptions {
  /** Of web pages that may call. */
  readonly origins: readonly string[]
  /** Of this package. */
  readonly version: string
}

type Handler = (request: Request, context: ThreadContext) => Promise<Response>

/** Adds `/mcp`. @throws ConfigError when the package that speaks MCP is not installed */
export function addMcpRoutes(app: ThreadApp, server: ServerContext, options: McpRoutes): void {
  checkMcpPackage()
  checkAgents(options)
  let handler: Promise<Handler> | undefined
  app.all('/mcp', async (context) => {
    refuseOtherOrigins(context, options.origins)
    handler ??= createHandler(server, options)
    // The guards have read the body already.
    const { method, url, headers, signal } = context.req.raw
    const body = method === 'GET' || method === 'HEAD' ? undefined : await context.req.arrayBuffer()
    return (await handler)(
      new Request(url, { method, headers, signal, ...(body !== undefined && { body }) }),
      context,
    )
  })
}

const METADATA = '/.well-known/oauth-protected-resource'

/** Tells clients without a token where people log in (RFC 9728): is added before callers are checked. @throws ConfigError */
export function addMcpLogin(app: ThreadApp, { resource, authorizationServers, scopes }: McpLogin): void {
  const bad = [resource, ...authorizationServers].filter(
    (url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''),
  )
  if (bad.length > 0 || authorizationServers.length === 0)
    throw new ConfigError([
      `Expected "mcp.login" to have http addresses in "resource" and "authorizationServers", got ${bad.length > 0 ? JSON.stringify(bad[0]) : 'no server'}.`,
    ])
  const metadata = {
    ...{ resource, authorization_servers: authorizationServers, bearer_methods_supported: ['header'] },
    ...(scopes !== undefined && { scopes_supported: scopes }),
  }
  const { origin, pathname } = new URL(resource)
  // Clients look at both places: below the path of the resource, and at the root.
  for (const path of new Set([METADATA, `${METADATA}${pathname === '/' ? '' : pathname}`]))
    app.get(path, (context) => context.json(metadata, 200))
  app.use('/mcp', async (context, next) => {
    await next()
    if (context.res.status !== 401) return
    const scope = scopes === undefined ? '' : `, scope="${scopes.join(' ')}"`
    const where = `${origin}${METADATA}${pathname === '/' ? '' : pathname}`
    context.res.headers.set('WWW-Authenticate', `Bearer resource_metadata="${where}"${scope}`)
  })
}

function checkAgents({ agents }: McpOptions): void {
  if (agents === undefined || agents.every((name) => typeof name === 'string' && name !== '')) return
  throw new ConfigError(['Expected "mcp.agents" to be names of agents, got something else.'])
}

/** Loads the package at the first request: most servers have none. */
async function createHandler(
  { client, admitMessage, closing }: ServerContext,
  { agents, version }: McpRoutes,
): Promise<Handler> {
  const mcp = await import('@modelcontextprotocol/server')
  return async (request, context) => {
    const caller = context.get('caller')
    const { account, user, roles } = caller
    const published = await listPublished(client, agents)
    const { fetch } = mcp.createMcpHandler(() =>
      createMcpServer(mcp, {
        ...{ client, closing, version, agents: published },
        caller: { account, ...withoutUndefined({ user, roles }) },
        admitMessage: (threadId, work) => admitMessage(caller, threadId, work),
        onFailure: (error) => context.set('failure', error),
      }),
    )
    return fetch(request)
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * A page of another origin, or one that a name brought to this machine, must not call, whatever token it has.
 * Programs send no origin.
 */
function refuseOtherOrigins({ req }: ThreadContext, origins: readonly string[]): void {
  const origin = req.header('origin')
  if (origin === undefined || origins.includes(origin)) return
  const [from, to] = [URL.parse(origin)?.hostname ?? '', new URL(req.url).hostname]
  if (LOOPBACK.has(from) && LOOPBACK.has(to)) return
  throw new ProblemError(
    403,
    'forbidden',
    'Expected no header "Origin", or one that "origins" of this server names, got another one.',
  )
}
