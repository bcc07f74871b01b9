/**
 * What the worker says to an authorization server: the beginning of a login, the exchange of a code, and the renewal of tokens. All of it is
 * done by the functions of the official client.
 *
 * Owns: where these requests may go, how long and how large they may be, and what an error means. Does not own: what is kept of a login
 * (`logins/`).
 * Invariants: an MCP server names its authorization server, so a request goes to the origin of the MCP server, to the public internet, or
 * where the operator allows; a person is sent to https only, or to their own machine; a secret of the client goes to its issuer only.
 */
import { randomBytes } from 'node:crypto'
import type {
  AuthorizationServerMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client'
import { ToolError } from '../../definitions/tool-error.js'
import { exceptionsFor } from '../../egress/addresses.js'
import { EgressError, guardedRequest } from '../../egress/guarded-request.js'
import { withoutUndefined } from '../../protocol/values.js'
import { isLoginUrl } from '../server-options.js'
import type { HttpServer, OAuthOptions } from '../server-options.js'

/** A server with logins. */
export type LoginServer = HttpServer & { readonly oauth: OAuthOptions }

/** What the MCP server has said with its refusal. */
export interface Challenge {
  /** Where it says which authorization server it trusts. */
  readonly metadataUrl?: string
  /** What it wants the tokens to be good for. */
  readonly scope?: string
}

/** The authorization server of a login, as far as its tokens need it. */
export interface Issuer {
  readonly url: string
  readonly metadata?: AuthorizationServerMetadata
  readonly client: StoredOAuthClientInformation
  /** What the tokens are for, as the MCP server has named it. */
  readonly resource?: string
}

/** A login that has begun: what the person opens, and what the worker needs for the code that comes back. */
export interface BegunLogin extends Issuer {
  readonly authorizationUrl: string
  readonly state: string
  readonly verifier: string
}

/** Milliseconds for one request, and for all of a login's beginning. */
const [REQUEST_TIME, ALL_TIME] = [10_000, 20_000]
const MOST_BYTES = 256 * 1024
const LONGEST_URL = 8_000

interface Beginning {
  /** A client that has registered itself before. */
  readonly known: StoredOAuthClientInformation | undefined
  readonly challenge: Challenge
  readonly signal: AbortSignal
}

/** Finds the authorization server, registers where that is needed, and makes the address for the person. @throws ToolError */
export async function beginLogin(
  server: LoginServer,
  { known, challenge, signal }: Beginning,
): Promise<BegunLogin> {
  const { auth } = await import('@modelcontextprotocol/client')
  const { oauth, url } = server
  const state = randomBytes(32).toString('base64url')
  const made: Partial<Made> = {}
  const provider = providerOf(oauth, { state, known, made })
  const { metadataUrl } = challenge
  const scope = oauth.scope ?? challenge.scope
  try {
    await auth(provider, {
      ...{
        serverUrl: url,
        fetchFn: loginFetch(server, AbortSignal.any([signal, AbortSignal.timeout(ALL_TIME)])),
      },
      ...(metadataUrl !== undefined && { resourceMetadataUrl: new URL(metadataUrl) }),
      ...(scope !== undefined && { scope }),
    })
  } catch (error) {
    throw loginError(server.name, error)
  }
  const { discovery, client, address, verifier, resource } = made
  if (discovery === undefined || client === undefined || address === undefined || verifier === undefined)
    throw refused(server.name, 'its authorization server gave no address to log in at')
  const issuer = discovery.authorizationServerMetadata?.issuer ?? discovery.authorizationServerUrl
  if (oauth.issuer !== undefined && issuer.replace(/\/$/, '') !== oauth.issuer.replace(/\/$/, ''))
    throw refused(server.name, 'it names another authorization server than the issuer of its options')
  if (!isLoginUrl(address) || address.href.length > LONGEST_URL)
    throw refused(
      server.name,
      `its authorization server wants people to log in at an address that is not https`,
    )
  return {
    ...{ url: discovery.authorizationServerUrl, client, verifier, state, authorizationUrl: address.href },
    ...withoutUndefined({ metadata: neededMetadata(discovery.authorizationServerMetadata), resource }),
  }
}

/** What the official client tells its provider. */
interface Made {
  discovery: OAuthDiscoveryState
  client: StoredOAuthClientInformation
  address: URL
  verifier: string
  resource: string
}

interface Providing {
  readonly state: string
  readonly known: StoredOAuthClientInformation | undefined
  readonly made: Partial<Made>
}

function providerOf(oauth: OAuthOptions, { state, known, made }: Providing): OAuthClientProvider {
  const { redirectUrl, clientId, clientMetadataUrl, clientName = 'Everthread', scope } = oauth
  const given = clientId === undefined ? known : ownClient(oauth, clientId)
  if (given !== undefined) made.client = given
  return {
    redirectUrl: String(redirectUrl),
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: {
      ...{ client_name: clientName, redirect_uris: [String(redirectUrl)], response_types: ['code'] },
      grant_types: ['authorization_code', 'refresh_token'],
      ...(scope !== undefined && { scope }),
    },
    state: () => state,
    clientInformation: () => made.client,
    // Without it the client neither registers itself nor takes another one in the place of that which was given.
    ...(clientId === undefined && {
      saveClientInformation(client) {
        made.client = client
      },
    }),
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization(address) {
      made.address = address
    },
    saveCodeVerifier(verifier) {
      made.verifier = verifier
    },
    codeVerifier: () => made.verifier ?? '',
    saveDiscoveryState(discovery) {
      made.discovery = discovery
    },
    saveResourceUrl(resource) {
      made.resource = resource
    },
  }
}

function ownClient({ clientSecret, issuer }: OAuthOptions, client_id: string): StoredOAuthClientInformation {
  return { client_id, ...withoutUndefined({ client_secret: clientSecret, issuer }) }
}

/** A server may describe itself with as much as it likes: this is kept with each login. */
function neededMetadata(
  metadata: AuthorizationServerMetadata | undefined,
): AuthorizationServerMetadata | undefined {
  if (metadata === undefined) return undefined
  const needed = {
    ...{ issuer: metadata.issuer, token_endpoint: metadata.token_endpoint },
    ...{ authorization_endpoint: metadata.authorization_endpoint, response_types_supported: ['code'] },
    token_endpoint_auth_methods_supported: metadata.token_endpoint_auth_methods_supported?.slice(0, 20),
    authorization_response_iss_parameter_supported: metadata.authorization_response_iss_parameter_supported,
  }
  // The fields that the functions below read, of a document that the client has checked.
  return withoutUndefined(needed) as AuthorizationServerMetadata
}

interface Exchange {
  readonly login: Issuer & Pick<BegunLogin, 'verifier'>
  readonly code: string
  /** Who says that it has sent the person back. */
  readonly iss: string | undefined
  readonly signal: AbortSignal
}

/** Exchanges a code for tokens. A code holds once. */
export async function exchangeCode(
  server: LoginServer,
  { login, code, iss, signal }: Exchange,
): Promise<OAuthTokens> {
  const { exchangeAuthorization } = await import('@modelcontextprotocol/client')
  return exchangeAuthorization(login.url, {
    ...{ clientInformation: login.client, authorizationCode: code, codeVerifier: login.verifier },
    ...{ redirectUri: server.oauth.redirectUrl, fetchFn: loginFetch(server, signal) },
    ...withoutUndefined({ metadata: login.metadata, iss, resource: login.resource }),
  })
}

interface Renewal {
  readonly login: Issuer
  readonly refreshToken: string
  readonly signal: AbortSignal
}

/** Gets new tokens for those that are over. */
export async function renewTokens(
  server: LoginServer,
  { login, refreshToken, signal }: Renewal,
): Promise<OAuthTokens> {
  const { refreshAuthorization } = await import('@modelcontextprotocol/client')
  return refreshAuthorization(login.url, {
    ...{ clientInformation: login.client, refreshToken, fetchFn: loginFetch(server, signal) },
    ...withoutUndefined({ metadata: login.metadata, resource: login.resource }),
  })
}

/** `fetch` for addresses that an MCP server has chosen. Redirects are left to the client, which follows those within an origin. */
function loginFetch({ url: own, oauth }: LoginServer, signal: AbortSignal) {
  return async (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(to)
    const allowed = exceptionsFor(oauth.allow)
    const { origin, hostname } = new URL(own)
    const isOwn = url.origin === origin
    const host = hostname.replaceAll(/^\[|\]$/g, '')
    const exceptions = isOwn ? { ...allowed, hosts: new Set([...allowed.hosts, host]) } : allowed
    const { status, headers, body, truncated } = await guardedRequest({
      ...{ url: url.href, method: init.method === 'POST' ? 'POST' : 'GET', exceptions, signal },
      ...{ timeout: REQUEST_TIME, answerBytes: MOST_BYTES },
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.body !== undefined && init.body !== null && { body: bodyOf(init.body) }),
    })
    if (truncated)
      throw new EgressError('answer', `Expected an answer of at most ${MOST_BYTES} bytes, got more.`)
    const given = Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    )
    const empty = status === 204 || status === 304
    return new Response(empty ? null : new Uint8Array(body), {
      status,
      headers: Object.fromEntries(given) as Record<string, string>,
    })
  }
}

/** The client sends forms and JSON. */
function bodyOf(body: NonNullable<RequestInit['body']>): string {
  if (body instanceof URLSearchParams) return body.toString()
  if (typeof body === 'string') return body
  throw new Error('Expected a form or a text to send to an authorization server.')
}

/** What was presented is not good any more; a person has to log in again. */
export function isSpent(error: unknown): boolean {
  return ['invalid_grant', 'invalid_client', 'unauthorized_client'].includes(codeOf(error))
}

/** The client itself is not known any more. */
export function isUnknownClient(error: unknown): boolean {
  return ['invalid_client', 'unauthorized_client'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  const { name, code } = error instanceof Error ? (error as Error & { readonly code?: unknown }) : {}
  return name === 'OAuthError' && typeof code === 'string' ? code : ''
}

const PASSING: ReadonlySet<string> = new Set(['unresolved', 'timeout', 'refused', 'connection'])

/** An error of the way to an authorization server, as that of a call. It has no cause: answers of such servers are kept from logs. */
export function loginError(server: string, error: unknown): unknown {
  if (ToolError.isInstance(error)) return error
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: '' }
  if (error instanceof EgressError) {
    const reason = message.replace(/\.$/, '')
    return PASSING.has(error.code) ? unavailable(server, reason) : refused(server, reason)
  }
  if (name === 'TimeoutError') return unavailable(server, 'its authorization server did not answer in time')
  if (name === 'IssuerMismatchError' || name === 'AuthorizationServerMismatchError')
    return refused(server, 'the answer comes from another authorization server than the one that was asked')
  const code = codeOf(error)
  // The client names each answer so that is no error of OAuth.
  if (code === 'server_error' || code === 'temporarily_unavailable' || /^HTTP 5\d\d /.test(message))
    return unavailable(server, 'its authorization server does not work at the moment')
  const reason =
    code === '' ? `its authorization server cannot be used (${name})` : `it was refused (${code})`
  return refused(server, reason.replaceAll(/[^\w ()-]/g, ''))
}

function unavailable(server: string, reason: string): ToolError {
  return new ToolError(`A login at the MCP server "${server}" is not possible now: ${reason}.`, {
    ...{ category: 'transient', code: 'mcp_login_unavailable' },
  })
}

function refused(server: string, reason: string): ToolError {
  return new ToolError(`A login at the MCP server "${server}" is not possible: ${reason}.`, {
    ...{ category: 'permission', code: 'mcp_login_failed' },
  })
}
