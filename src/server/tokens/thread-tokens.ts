/**
 * Tokens of one thread, for browsers and others who must not have the token of an account.
 *
 * It owns: what such a token says, how it is signed and read, which routes it opens, and which web pages may call. It does not own: the
 * tokens of accounts and operators (`tokens.ts`), and who may answer an approval.
 * Invariants: a token opens the routes of the table below and no others, so that a route that is added is closed to it; it makes no
 * token; it lives for a day at most; a stream ends with it.
 */
import { createRoute, z } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { decode, sign, verify } from 'hono/jwt'
import type { ThreadOwner } from '../../client/index.js'
import { ConfigError, ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { isObject, withoutUndefined } from '../../protocol/values.js'
import { ProblemError, unauthorizedError } from '../error-response.js'
import { KEY_HEADER } from '../keyed-id.js'
import { json, jsonBody, problem, security, threadParams, writeRefusals } from '../schemas.js'
import type { Caller, ServerContext, ServerEnv, ThreadApp, TokenAccess } from '../server-context.js'

/** Signs and checks tokens of threads. */
export interface ThreadTokenOptions {
  /**
   * Secrets of 32 characters or more, which only the servers have: the first signs, all of them are accepted. Put a new one first, and
   * remove the old one a day later.
   */
  readonly keys: readonly string[]
}

const ALGORITHM = 'HS256'
const ISSUER = 'everthread'
const USUAL_SECONDS = 600
const LONGEST_SECONDS = 86_400
const SHORTEST_KEY = 32
/** How far below its thread a token looks. */
const DEEPEST = 64

/** The routes of a thread that its tokens open, by what they are for. */
const OPEN: Readonly<Record<TokenAccess, readonly string[]>> = {
  read: [
    ...['GET /', 'GET /snapshot', 'GET /tree', 'GET /events', 'GET /result', 'GET /usage', 'GET /budget'],
    ...[
      'GET /messages',
      'GET /messages/*',
      'GET /calls/*',
      'GET /runs/*',
      'GET /files',
      'GET /files/content',
    ],
    ...['GET /requests/*', 'GET /variables/*', 'GET /queue', 'GET /children', 'GET /artifacts'],
    'GET /ag-ui/runs/*',
    ...['GET /ui-messages', 'GET /ui-messages/stream'],
  ],
  write: [
    ...['POST /messages', 'POST /stop', 'POST /continue', 'DELETE /queue/*', 'PUT /files/content'],
    ...['POST /messages/*/cancel', 'POST /queue/*/promote', 'POST /requests/*', 'POST /variables/*'],
    'POST /ag-ui',
    'POST /ui-messages',
  ],
}

/** Routes for readers that can send no header, such as `EventSource` and images. */
const BY_QUERY: ReadonlySet<string> = new Set(['GET /events', 'GET /files/content'])

const TOKEN_PARAMETER = 'access_token'

/** The query of those routes. */
export const queryToken = {
  [TOKEN_PARAMETER]: z.string().optional().openapi({
    description: 'A token of this thread, where no header can be sent: `EventSource`, images.',
  }),
}

const PATTERNS = Object.entries(OPEN).flatMap(([access, routes]) =>
  routes.map((route) => ({ access, pattern: new RegExp(`^${route.replaceAll('*', '[^/]+')}$`) })),
)

/** The access that a request needs; null: no token of a thread opens it. */
function neededAccess(route: string): TokenAccess | null {
  const found = PATTERNS.find(({ pattern }) => pattern.test(route))
  return (found?.access as TokenAccess | undefined) ?? null
}

/** @throws ConfigError for keys that are too short, or none */
function checkKeys({ keys }: ThreadTokenOptions): void {
  const bad = keys.filter((key) => typeof key !== 'string' || key.length < SHORTEST_KEY)
  const problems = [
    ...(keys.length === 0 ? ['Expected "threadTokens.keys" to hold a secret, got none.'] : []),
    ...bad.map(
      (key) =>
        `Expected each of "threadTokens.keys" to have ${SHORTEST_KEY} characters or more, got ${String(key).length}: openssl rand -hex 32 makes one.`,
    ),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
}

/**
 * Finds the caller of a request by the token in its header, or in its address where no header can be sent; null if that is the token of
 * an account, or none is there. @throws ConfigError for its keys; ProblemError 401 for a token that is wrong, over, or in the wrong place
 */
export function createThreadTokenFinder(
  options: ThreadTokenOptions,
): (request: Request, header: string | undefined) => Promise<Caller | null> {
  checkKeys(options)
  return async (request, header) => {
    if (header !== undefined) return readToken(header, options)
    const token = tokenOfQuery(request)
    if (token === undefined) return null
    const caller = await readToken(token, options)
    // An address is no place for a token that lives longer.
    if (caller === null) throw refusedToken()
    return caller
  }
}

/** Null for a token of another kind. */
async function readToken(token: string, { keys }: ThreadTokenOptions): Promise<Caller | null> {
  // A login of one's own may have tokens of this form, too.
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) || issuerOf(token) !== ISSUER) return null
  for (const key of keys) {
    const claims = await verify(token, key, { alg: ALGORITHM, iss: ISSUER }).catch(() => null)
    const caller = claims === null ? null : callerOf(claims)
    if (caller !== null) return caller
  }
  throw refusedToken()
}

/** As the token says, which proves nothing. */
function issuerOf(token: string): unknown {
  try {
    return decode(token).payload.iss
  } catch {
    return undefined
  }
}

function refusedToken(): ProblemError {
  return unauthorizedError('a token of a thread that this server has signed and that is not over')
}

function callerOf(claims: unknown): Caller | null {
  if (!isObject(claims)) return null
  const { thread: threadId, account, access, exp, iat, user, roles } = claims
  if (typeof threadId !== 'string' || (account !== null && typeof account !== 'string')) return null
  if (access !== 'read' && access !== 'write') return null
  if (typeof exp !== 'number' || typeof iat !== 'number' || exp - iat > LONGEST_SECONDS) return null
  if (user !== undefined && (typeof user !== 'string' || user === '')) return null
  if (roles !== undefined && !isRoles(roles)) return null
  return {
    ...{ account, rateKey: `thread:${threadId}`, thread: { threadId, access, expiresAt: exp } },
    ...withoutUndefined({ user, roles }),
  }
}

function isRoles(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((role) => typeof role === 'string')
}

/** The token in the address of a request that cannot have a header. */
function tokenOfQuery(request: Request): string | undefined {
  const { pathname, searchParams } = new URL(request.url)
  const [, behind = ''] = /^\/threads\/[^/]+(\/.*)$/.exec(pathname) ?? []
  if (!BY_QUERY.has(`${request.method} ${behind}`)) return undefined
  return searchParams.get(TOKEN_PARAMETER) ?? undefined
}

/** How long a caller may listen. */
export function millisecondsLeft({ thread }: Caller): number {
  return thread === undefined ? Infinity : Math.max(0, thread.expiresAt * 1000 - Date.now())
}

/** Refuses what the token of a thread does not open: other routes with 403, and changes of other threads as if there were none. */
export function guardThreadTokens(): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const { thread } = context.get('caller')
    if (thread === undefined) return next()
    const [, asked = '', behind = '/'] = /^\/threads\/([^/]+)(\/.*)?$/.exec(context.req.path) ?? []
    const method = context.req.method === 'HEAD' ? 'GET' : context.req.method
    const needed = asked === '' ? null : neededAccess(`${method} ${behind}`)
    if (needed === null || (needed === 'write' && thread.access === 'read'))
      throw new ProblemError(
        403,
        'forbidden',
        `Expected a request that a token of a thread opens for "${thread.access}", got another one.`,
      )
    const threadId = decoded(asked)
    if (needed === 'write' && threadId !== thread.threadId) throw new ThreadNotFoundError(threadId)
    return next()
  }
}

/** A text that is not encoded well names no thread. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a caller may look at a thread: at one of its account, and with the token of a thread at that one and at those below it. */
export async function mayReach(
  client: ServerContext['client'],
  { thread: own, account }: Caller,
  threadId: string,
): Promise<boolean> {
  const found = await client.owner(threadId)
  if (found === null) return false
  if (own === undefined) return account === null || found.account === account
  // A thread that was made anew under the id belongs to whom it belongs.
  if (found.account !== account) return false
  return threadId === own.threadId || isBelow(client, found, own.threadId)
}

async function isBelow(
  client: ServerContext['client'],
  { parent: first }: ThreadOwner,
  above: string,
): Promise<boolean> {
  let parent = first
  for (let depth = 0; parent !== null && depth < DEEPEST; depth += 1) {
    if (parent === above) return true
    parent = (await client.owner(parent))?.parent ?? null
  }
  return false
}

const issue = createRoute({
  method: 'post',
  path: '/threads/{threadId}/tokens',
  operationId: 'issueToken',
  tags: ['threads'],
  security,
  summary: 'Signs a token of this thread alone, for a browser.',
  request: {
    params: threadParams,
    body: jsonBody(
      z
        .strictObject({
          access: z.enum(['read', 'write']).openapi({
            description: 'read: to look at it and at what is below it; write: to send, stop and answer, too.',
          }),
          seconds: z
            .int()
            .min(1)
            .max(LONGEST_SECONDS)
            .optional()
            .openapi({
              description: `How long it holds; else ${USUAL_SECONDS}.`,
            }),
          user: z.string().min(1).max(LIMITS.threadIdLength).optional().openapi({
            description: 'Who has it: what it answers is theirs. That of the caller, if it has one.',
          }),
          roles: z.array(z.string().min(1)).max(LIMITS.startNames).optional().openapi({
            description: 'Of those of the caller, if it has any.',
          }),
        })
        .openapi('NewThreadToken'),
    ),
  },
  responses: {
    201: json(
      'Signed.',
      z
        .object({
          token: z.string(),
          expiresAt: z.string().openapi({ description: 'ISO 8601.' }),
        })
        .openapi('ThreadToken'),
    ),
    ...writeRefusals,
    403: json('A token of a thread makes no other one, and none has more than its caller.', problem),
  },
})

/** Adds the route that signs tokens of threads. */
export function addTokenRoutes(
  app: ThreadApp,
  { client }: Pick<ServerContext, 'client'>,
  { keys: [key = ''] }: ThreadTokenOptions,
): void {
  app.openapi(issue, async (context) => {
    const { threadId } = context.req.valid('param')
    const { access, seconds = USUAL_SECONDS, ...given } = context.req.valid('json')
    const person = personOf(context.get('caller'), given)
    const thread = await client.find(threadId)
    if (thread === null) throw new ThreadNotFoundError(threadId)
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      ...{ iss: ISSUER, thread: threadId, account: thread.account, access },
      ...{ iat: now, exp: now + seconds },
      ...person,
    }
    const token = await sign(claims, key, ALGORITHM)
    return context.json({ token, expiresAt: new Date((now + seconds) * 1000).toISOString() }, 201)
  })
}

interface Person {
  readonly user?: string | undefined
  readonly roles?: readonly string[] | undefined
}

/** A caller with a name gives its own only, and of its roles; one without may name the person for whom it signs. */
function personOf(caller: Caller, given: Person): Person {
  const { user = caller.user, roles = caller.roles } = given
  const isOther = caller.user !== undefined && user !== caller.user
  const known = caller.roles ?? (caller.user === undefined ? roles : [])
  if (isOther || roles?.some((role) => known?.includes(role) !== true) === true)
    throw new ProblemError(
      403,
      'forbidden',
      'Expected the user of the token and some of its roles, or neither, got others.',
    )
  return withoutUndefined({ user, roles })
}

/**
 * Lets pages of these origins call from a browser, with a token in a header: no cookie is ever read.
 * @throws ConfigError for an entry that is no origin
 */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler<ServerEnv> {
  const bad = origins.filter((origin) => URL.parse(origin)?.origin !== origin || origin === 'null')
  if (bad.length > 0)
    throw new ConfigError(
      bad.map(
        (origin) =>
          `Expected each of "origins" to be the origin of a page such as "https://shop.example", got ${JSON.stringify(origin)}.`,
      ),
    )
  return cors({
    origin: [...origins],
    allowMethods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    allowHeaders: [
      ...['Authorization', 'Content-Type', KEY_HEADER, 'Last-Event-ID', 'Range', 'traceparent'],
      ...['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
    ],
    exposeHeaders: [
      ...['X-Request-Id', 'X-Thread-Id', 'Retry-After', 'ETag', 'Content-Range'],
      'X-RateLimit-Remaining',
    ],
    maxAge: 600,
  })
}
