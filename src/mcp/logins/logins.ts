/**
 * The logins of people at an MCP server.
 *
 * Owns: what is kept of a login, which tokens a request has, their renewal, and the beginning and the end of a login. Does not own: the
 * requests to an authorization server (`oauth/`), the store, and the person who is asked (`login-calls.ts`).
 * Invariants: a connection has the tokens of one person only; all writes name the version that was read, so that no worker loses what
 * another one has written; tokens are renewed by one worker at a time, because some servers end a login whose renewal is asked for twice;
 * what a code needs is kept here, sealed, and in no state of a call.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuthProvider, OAuthTokens, StoredOAuthClientInformation } from '@modelcontextprotocol/client'
import { ToolError } from '../../definitions/tool-error.js'
import type { SourceLogin, SourceUser } from '../../definitions/tool-source.js'
import { isObject, withoutUndefined } from '../../protocol/values.js'
import type { McpServer } from '../server-options.js'
import {
  beginLogin,
  exchangeCode,
  isSpent,
  isUnknownClient,
  loginError,
  renewTokens,
} from '../oauth/login-client.js'
import type { BegunLogin, Challenge, Issuer, LoginServer } from '../oauth/login-client.js'

/** What is kept of a person's login. */
interface Login {
  readonly tokens?: Tokens
  /** A client that has registered itself, for the page that it named then. */
  readonly client?: { readonly known: StoredOAuthClientInformation; readonly redirectUrl: string }
  /** Logins that have begun, by their `state`. */
  readonly begun?: Readonly<Record<string, Begun>>
  /** Until then a worker renews the tokens, in milliseconds since 1970. */
  readonly renewing?: number
}

interface Tokens extends Issuer {
  readonly access: string
  readonly refresh?: string
  /** From when on they are renewed before they are used, in milliseconds since 1970; left out: the server says when they are over. */
  readonly renewAt?: number
  readonly scope?: string
}

interface Begun extends Issuer {
  readonly verifier: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Logins of one person that have begun at once, at one server; the oldest one is forgotten. */
const MOST_BEGUN = 16
/** Characters of all that is kept of a login. */
const LONGEST = 128 * 1024
/** Milliseconds: a renewal is one request of at most ten seconds. */
const [RENEWAL, PAUSE] = [15_000, 100]
/** Milliseconds before their end at which tokens are renewed, but at most half of their time. */
const EARLY = 30_000
/** Writers of one login at once. */
const MOST_TRIES = 50

export function hasLogins(server: McpServer): server is LoginServer {
  return 'oauth' in server && server.oauth !== undefined
}

/** Where the login of a person is kept. */
export function loginOf(server: LoginServer, { account, user, login }: SourceUser): SourceLogin {
  const { logins } = server.oauth
  if (logins === undefined) {
    if (login === undefined) throw new Error('Expected a store for logins, got none.')
    return login
  }
  const place = { account, user, source: server.name }
  return {
    key: JSON.stringify([account, user]),
    read: () => logins.get(place),
    save: (text, version) => logins.save(place, text, version),
  }
}

interface Read {
  readonly login: Login
  readonly version: string | number | null
}

async function readLogin(kept: SourceLogin): Promise<Read> {
  const found = await kept.read()
  if (found === null) return { login: {}, version: null }
  const login: unknown = JSON.parse(found.text)
  if (!isObject(login)) throw new Error('Expected a login as it was written, got something else.')
  // Written below: the store's boundary.
  return { login: login as Login, version: found.version }
}

/** Changes what is kept, however many do so at once; null leaves it. Returns what is kept then. */
async function changeLogin(kept: SourceLogin, change: (login: Login) => Login | null): Promise<Login> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { login, version } = await readLogin(kept)
    const changed = change(login)
    if (changed === null) return login
    const text = JSON.stringify(changed)
    if (text.length > LONGEST)
      throw new Error(`Expected a login of at most ${LONGEST} characters, got one of ${text.length}.`)
    if (await kept.save(text, version)) return changed
    await sleep(Math.random() * PAUSE)
  }
  throw new ToolError('A login could not be written, because others write it all the time.', {
    ...{ category: 'transient', code: 'mcp_login_unavailable' },
  })
}

/** The refusal of a server that wants a login, with what it said. */
class LoginWanted extends Error {
  readonly challenge: Challenge

  constructor(challenge: Challenge) {
    super('a login is wanted')
    this.challenge = challenge
  }
}

function wantedError({ name }: LoginServer, challenge: Challenge): ToolError {
  return new ToolError(`The MCP server "${name}" wants a login.`, {
    ...{ category: 'permission', code: 'mcp_unauthorized', cause: new LoginWanted(challenge) },
  })
}

/** What a server has said that wants a login; null: the error is another one. */
export function challengeIn(error: unknown): Challenge | null {
  if (!(error instanceof Error)) return null
  if (error.cause instanceof LoginWanted) return error.cause.challenge
  // It has also refused tokens that another worker has written meanwhile.
  if (ToolError.isInstance(error) && error.code === 'mcp_unauthorized' && error.status === 401) return {}
  const cause = error.name === 'InsufficientScopeError' ? error : error.cause
  if (!(cause instanceof Error) || cause.name !== 'InsufficientScopeError') return null
  // The fields of the client's error.
  const { requiredScope: scope, resourceMetadataUrl } = cause as Error & {
    readonly requiredScope?: string
    readonly resourceMetadataUrl?: URL
  }
  return withoutUndefined({ scope, metadataUrl: resourceMetadataUrl?.href })
}

/** The tokens of the requests of one connection, which is that of one person. */
export interface LoginSession extends AuthProvider {
  /** Reads what is kept, before the requests of a call. */
  open(kept: SourceLogin): Promise<void>
}

/** `first`: that of the call for which the connection is made. */
export function createLoginSession(server: LoginServer, first: SourceLogin): LoginSession {
  let kept = first
  let current: Login = {}
  let sent: string | undefined
  const renew = async (tokens: Tokens): Promise<void> => {
    current = await renewLogin(server, kept, tokens)
  }
  return {
    async open(given) {
      kept = given
      current = (await readLogin(kept)).login
    },
    async token() {
      const { tokens } = current
      if (tokens?.renewAt !== undefined && tokens.renewAt <= Date.now() && tokens.refresh !== undefined)
        await renew(tokens)
      sent = current.tokens?.access
      return sent
    },
    async onUnauthorized({ response }) {
      const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      const challenge = withoutUndefined({ metadataUrl: resourceMetadataUrl?.href, scope })
      const refused = sent
      current = (await readLogin(kept)).login
      const { tokens } = current
      // Another worker has newer ones.
      if (tokens !== undefined && tokens.access !== refused) return
      if (tokens?.refresh === undefined) throw wantedError(server, challenge)
      await renew(tokens)
      if (current.tokens === undefined) throw wantedError(server, challenge)
    },
  }
}

/** Renews tokens, unless another worker does so: then it waits for theirs. Without tokens the login is over. */
async function renewLogin(server: LoginServer, kept: SourceLogin, used: Tokens): Promise<Login> {
  const written = await claimRenewal(kept, used)
  if (written !== null) return written
  const signal = AbortSignal.timeout(RENEWAL)
  let given: OAuthTokens
  try {
    given = await renewTokens(server, { login: used, refreshToken: used.refresh ?? '', signal })
  } catch (error) {
    const isOver = isSpent(error)
    // What cannot be reached is tried again by the next call. Newer tokens of others stay.
    const login = await changeLogin(kept, (current) =>
      withTokens(current, { used, tokens: isOver ? undefined : used, forgetsClient: isUnknownClient(error) }),
    )
    if (isOver || login.tokens?.access !== used.access) return login
    throw loginError(server.name, error)
  }
  const tokens = tokensOf(used, given)
  return changeLogin(kept, (current) => withTokens(current, { used, tokens }))
}

/** Null: this worker renews; else what another one has written. */
async function claimRenewal(kept: SourceLogin, used: Tokens): Promise<Login | null> {
  for (const until = Date.now() + 2 * RENEWAL; Date.now() < until; await sleep(PAUSE)) {
    const { login, version } = await readLogin(kept)
    if (login.tokens?.access !== used.access) return login
    if (login.renewing !== undefined && login.renewing > Date.now()) continue
    const renewing = Date.now() + RENEWAL
    if (await kept.save(JSON.stringify({ ...login, renewing }), version)) return null
  }
  throw new ToolError('A login is renewed by others all the time.', {
    ...{ category: 'transient', code: 'mcp_login_unavailable' },
  })
}

interface Renewed {
  readonly used: Tokens
  readonly tokens: Tokens | undefined
  readonly forgetsClient?: boolean
}

/** The login with other tokens, if it still has those that were used. */
function withTokens(login: Login, { used, tokens, forgetsClient = false }: Renewed): Login | null {
  if (login.tokens?.access !== used.access) return null
  const { tokens: _old, renewing: _until, client, ...others } = login
  return { ...others, ...withoutUndefined({ tokens, client: forgetsClient ? undefined : client }) }
}

function tokensOf(issuer: Issuer & { readonly scope?: string }, given: OAuthTokens): Tokens {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, scope = issuer.scope } = given
  const { url, metadata, client, resource } = issuer
  const time = seconds === undefined ? undefined : seconds * 1_000
  const renewAt = time === undefined ? undefined : Date.now() + time - Math.min(EARLY, time / 2)
  return { url, client, access, ...withoutUndefined({ metadata, resource, refresh, renewAt, scope }) }
}

/** Begins a login. Its `state` names it; what its code needs stays with the login. @throws ToolError if there is no way to log in */
export async function startLogin(
  server: LoginServer,
  kept: SourceLogin,
  { challenge, signal }: { readonly challenge: Challenge; readonly signal: AbortSignal },
): Promise<Pick<BegunLogin, 'state' | 'authorizationUrl'>> {
  const { login } = await readLogin(kept)
  const begun = await beginLogin(server, {
    ...{ known: knownClient(server, login), challenge: withGranted(login, challenge), signal },
  })
  const { state, authorizationUrl, verifier, url, client, metadata, resource } = begun
  const one: Begun = { url, client, verifier, at: Date.now(), ...withoutUndefined({ metadata, resource }) }
  const redirectUrl = String(server.oauth.redirectUrl)
  await changeLogin(kept, (current) => {
    const all = [...Object.entries(current.begun ?? {}), [state, one] as const]
    const newest = all.toSorted(([, first], [, second]) => first.at - second.at).slice(-MOST_BEGUN)
    const registered = server.oauth.clientId === undefined ? { client: { known: client, redirectUrl } } : {}
    return { ...current, ...registered, begun: Object.fromEntries(newest) }
  })
  return { state, authorizationUrl }
}

/** Further rights are asked for together with those that the person has given. */
function withGranted({ tokens }: Login, { scope, ...challenge }: Challenge): Challenge {
  if (scope === undefined) return challenge
  const all = [...(tokens?.scope ?? '').split(' '), ...scope.split(' ')].filter((one) => one !== '')
  return { ...challenge, scope: [...new Set(all)].join(' ') }
}

function knownClient(
  { oauth: { redirectUrl } }: LoginServer,
  { client }: Login,
): StoredOAuthClientInformation | undefined {
  if (client?.redirectUrl !== String(redirectUrl)) return undefined
  const { client_secret_expires_at: ends } = client.known as { readonly client_secret_expires_at?: number }
  return ends !== undefined && ends !== 0 && ends * 1_000 < Date.now() ? undefined : client.known
}

interface Ending {
  readonly state: string
  readonly code: string
  readonly iss: string | undefined
  readonly signal: AbortSignal
}

/**
 * Exchanges the code that a person has brought, and keeps the tokens. It may be repeated: a code that was exchanged before is known by the
 * tokens that it gave. Returns false if the person has to log in again. @throws ToolError
 */
export async function finishLogin(
  server: LoginServer,
  kept: SourceLogin,
  { state, code, iss, signal }: Ending,
): Promise<boolean> {
  const { login: before } = await readLogin(kept)
  const begun = before.begun?.[state]
  if (begun === undefined) return before.tokens !== undefined
  const ends = (login: Login): Readonly<Record<string, Begun>> =>
    Object.fromEntries(Object.entries(login.begun ?? {}).filter(([name]) => name !== state))
  try {
    const tokens = tokensOf(begun, await exchangeCode(server, { login: begun, code, iss, signal }))
    await changeLogin(kept, (login) => ({ ...login, tokens, begun: ends(login) }))
    return true
  } catch (error) {
    if (!isSpent(error)) throw loginError(server.name, error)
    const forgets = isUnknownClient(error)
    const login = await changeLogin(kept, (current) => {
      if (current.begun?.[state] === undefined) return null
      const { client, ...others } = current
      return { ...others, begun: ends(current), ...(client !== undefined && !forgets && { client }) }
    })
    // Another attempt of this part has exchanged it.
    return login.tokens !== undefined && login.tokens.access !== before.tokens?.access
  }
}
