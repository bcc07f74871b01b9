/** An MCP server that wants logins, its authorization server, and people who log in, all on real sockets. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { McpServer } from '@modelcontextprotocol/server'

import { marked } from '../support/marker.js'
import { serveHttp, serveMcp } from './mcp-test-server.js'

/** Nobody listens there: the page of an application, to which people are sent back. */
export const REDIRECT = 'http://127.0.0.1:9/back'

interface Grant {
  readonly client: string
  readonly challenge: string
  readonly redirect: string | null
  readonly scope: string
}

/** What an authorization server was asked, and what it is to do. */
export interface AuthorizationServer {
  readonly url: string
  /** The grants that were asked for with a code or a refresh token, in order. */
  readonly asked: string[]
  /** What codes were exchanged with. */
  readonly verifiers: string[]
  /** The number of clients that have registered themselves. */
  registered: number
  /** Answers of the token endpoint, in the place of its own. */
  readonly failures: number[]
  /** Before each answer of the token endpoint. */
  before: (grant: string) => Promise<void>
  /** Behind what the token endpoint has done, before it answers. */
  behind: (grant: string) => Promise<void>
  /** Seconds that tokens hold; null: it does not say. */
  expiresIn: number | null
  /** Fields of the metadata, in the place of its own. */
  metadata: object
  /** The person at the page of the server allows it, or does not. Returns what their browser brings back. */
  visit(address: string, allows?: boolean): Promise<Readonly<Record<string, string>>>
  /** Ends all access tokens, and with `whole` all logins. */
  revoke(whole?: boolean): void
  /** The scope of an access token; null: it does not hold. */
  scopeOf(token: string): string | null
  readonly close: () => Promise<void>
}

/** An authorization server of OAuth 2.1: PKCE is checked, codes hold once, refresh tokens once, and one that comes again ends its login. */
export async function serveAuthorization(): Promise<AuthorizationServer> {
  const codes = new Map<string, Grant>()
  const access = new Map<string, Grant>()
  const refresh = new Map<string, { readonly grant: Grant; used: boolean }>()
  const clients = new Set<string>()
  const json = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const tokens = (grant: Grant): object => {
    const [one, two] = [marked(`access-${randomUUID()}`), marked(`refresh-${randomUUID()}`)].map((text) =>
      text.replaceAll(' ', '-'),
    ) as [string, string]
    access.set(one, grant)
    refresh.set(two, { grant, used: false })
    const { expiresIn } = server
    return {
      ...{ access_token: one, token_type: 'Bearer', refresh_token: two, scope: grant.scope },
      ...(expiresIn !== null && { expires_in: expiresIn }),
    }
  }
  const exchange = (form: URLSearchParams): Grant | null => {
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    codes.delete(code)
    const verifier = form.get('code_verifier') ?? ''
    server.verifiers.push(verifier)
    const digest = createHash('sha256').update(verifier).digest('base64url')
    return grant !== undefined && grant.challenge === digest && form.get('redirect_uri') === grant.redirect
      ? grant
      : null
  }
  const renew = (form: URLSearchParams): Grant | null => {
    const found = refresh.get(form.get('refresh_token') ?? '')
    if (found === undefined) return null
    if (!found.used) {
      found.used = true
      return found.grant
    }
    for (const [token, other] of refresh) if (other.grant === found.grant) refresh.delete(token)
    for (const [token, other] of access) if (other === found.grant) access.delete(token)
    return null
  }
  const answerToken = async (form: URLSearchParams, response: ServerResponse): Promise<void> => {
    const type = form.get('grant_type') ?? ''
    server.asked.push(type)
    await server.before(type)
    const failure = server.failures.shift()
    if (failure !== undefined) return json(response, failure, { error: 'server_error' })
    if (!clients.has(form.get('client_id') ?? '')) return json(response, 401, { error: 'invalid_client' })
    const grant = type === 'authorization_code' ? exchange(form) : renew(form)
    const made = grant === null ? null : tokens(grant)
    await server.behind(type)
    if (made === null) return json(response, 400, { error: 'invalid_grant' })
    return json(response, 200, made)
  }
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const back = new URL(query.get('redirect_uri') ?? REDIRECT)
    back.searchParams.set('state', query.get('state') ?? '')
    back.searchParams.set('iss', server.url)
    if (query.get('allow') === 'no') back.searchParams.set('error', 'access_denied')
    else {
      const code = marked(`code-${randomUUID()}`).replaceAll(' ', '-')
      const [client, challenge] = [query.get('client_id') ?? '', query.get('code_challenge') ?? '']
      codes.set(code, {
        client,
        challenge,
        redirect: query.get('redirect_uri'),
        scope: query.get('scope') ?? '',
      })
      back.searchParams.set('code', code)
    }
    response.writeHead(302, { location: back.href }).end()
  }
  const { url: served, close } = await serveHttp((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    void readBody(request).then(async (body) => {
      if (pathname === '/.well-known/oauth-authorization-server')
        return json(response, 200, {
          ...{ issuer: server.url, authorization_endpoint: `${server.url}/authorize` },
          ...{ token_endpoint: `${server.url}/token`, registration_endpoint: `${server.url}/register` },
          ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
          authorization_response_iss_parameter_supported: true,
          ...server.metadata,
        })
      if (pathname === '/register') {
        server.registered += 1
        const client_id = `client-${randomUUID()}`
        clients.add(client_id)
        return json(response, 201, { ...(JSON.parse(body) as object), client_id })
      }
      if (pathname === '/authorize') return authorize(searchParams, response)
      if (pathname === '/token') return answerToken(new URLSearchParams(body), response)
      return json(response, 404, {})
    })
  })
  const server: AuthorizationServer = {
    url: new URL(served).origin,
    ...{ asked: [], verifiers: [], registered: 0, failures: [], expiresIn: 3_600, metadata: {}, close },
    before: () => Promise.resolve(),
    behind: () => Promise.resolve(),
    async visit(address, allows = true) {
      const response = await fetch(`${address}${allows ? '' : '&allow=no'}`, { redirect: 'manual' })
      const back = new URL(response.headers.get('location') ?? '')
      return Object.fromEntries(back.searchParams)
    },
    revoke(whole = false) {
      access.clear()
      if (whole) refresh.clear()
    },
    scopeOf: (token) => access.get(token)?.scope ?? null,
  }
  return server
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

interface Guarded {
  readonly url: string
  /** The access tokens of all requests that were let in, in order. */
  readonly seen: string[]
  /** The token of the request that a tool answers. */
  readonly token: () => string
  readonly close: () => Promise<void>
}

interface Guarding {
  readonly register: (server: McpServer) => void
  /** Where its authorization server is. */
  readonly issuer: () => string
  readonly scopeOf: (token: string) => string | null
}

/** An MCP server that lets nobody in without a token of its authorization server. */
export async function serveGuarded({ register, issuer, scopeOf }: Guarding): Promise<Guarded> {
  const seen: string[] = []
  const current = new AsyncLocalStorage<string>()
  let own = ''
  const { url, close } = await serveMcp(register, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      const about = { resource: own, authorization_servers: [issuer()], scopes_supported: ['read'] }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about))
      return true
    }
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    if (scopeOf(token) !== null) {
      seen.push(token)
      // What answers this request runs in its context.
      current.enterWith(token)
      return false
    }
    const metadata = `${new URL(own).origin}/.well-known/oauth-protected-resource/mcp`
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end()
    return true
  })
  own = url
  return { url, seen, token: () => current.getStore() ?? '', close }
}
