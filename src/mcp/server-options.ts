/**
 * What `mcpServer` takes.
 *
 * Owns: the options and their checks. Does not own: what is done with them.
 */
import { createRequire } from 'node:module'
import { destructiveProblem } from '../policy/action.js'
import type { ActionTraits } from '../policy/action.js'
import { capabilityProblem } from '../policy/permissions.js'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { readExceptions } from '../egress/addresses.js'
import { isObject, suggestName } from '../protocol/values.js'
import { SOURCE_NAME } from '../definitions/tool-source.js'
import type { KeptLogin, SourceUser } from '../definitions/tool-source.js'

/** A tool of a server with what its definition says of it. What the server itself says grants nothing. */
export interface McpToolEntry extends ActionTraits {
  /** The server's own name. */
  readonly name: string
  /** The name that models read, without the prefix. @default the server's own */
  readonly as?: string
  /** In the place of the server's description. */
  readonly description?: string
  /** @default that of the server's options */
  readonly needsApproval?: boolean
  /** True if a call that a crash interrupted may run again. @default false */
  readonly idempotent?: boolean
  /** Milliseconds. @default that of the server's options */
  readonly timeout?: number
}

interface AnyServer {
  /** Its name among the tools of an agent: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string
  /** The tools that agents may call, by the server's own names; `'all'`: whatever it lists, at most 128. */
  readonly tools: 'all' | readonly (string | McpToolEntry)[]
  /** Before the name of each tool: `'github_'`. @default '' */
  readonly prefix?: string
  /** The authority that a call of any of its tools needs, for rules. @default `mcp.` and the name */
  readonly capabilities?: readonly string[]
  /** True: a person has to approve each call. @default false */
  readonly needsApproval?: boolean
  /** Milliseconds until a call is an error; at most 290,000. @default 60,000 */
  readonly timeout?: number
  /** Milliseconds to start or reach the server; at most 18,000. @default 10,000 */
  readonly connectTimeout?: number
}

/** A server that is a program of this machine. Each worker starts one process of it, with the first request. */
export interface StdioServer extends AnyServer {
  readonly command: string
  readonly args?: readonly string[]
  /** Beside the few variables that are safe for any program, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>
  /** @default that of the worker */
  readonly cwd?: string
}

/** A server at a URL, by streamable HTTP. */
export interface HttpServer extends AnyServer {
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
  /**
   * The bearer token of the person for whom a thread works, asked for before each request. Each person gets a connection of their
   * own. Without a token the call fails with the code `mcp_no_token`.
   */
  readonly tokens?: (user: SourceUser) => string | null | undefined | Promise<string | null | undefined>
  /** In the place of `tokens`: a person who has no login is asked to log in, while the call waits. */
  readonly oauth?: OAuthOptions
}

/** Logins by OAuth 2.1, as MCP has it: the server names its authorization server. */
export interface OAuthOptions {
  /**
   * The page of your application to which the authorization server sends people back, or the page of `everthread serve`. It gives what it
   * finds in its address as the answer to the request, in the name of the person who sees it.
   */
  readonly redirectUrl: string | URL
  /** The client, if it was registered by hand. @default `clientMetadataUrl`, else it registers itself */
  readonly clientId?: string
  /** Needs `issuer`: a secret goes to no other authorization server. */
  readonly clientSecret?: string
  /** The https address of a document that describes the client, for servers that read such documents. */
  readonly clientMetadataUrl?: string
  /** The only authorization server that may be used. @default the one that the server names */
  readonly issuer?: string
  /** What the tokens are to be good for. @default what the server asks for */
  readonly scope?: string
  /** What a person reads who is asked by the authorization server. @default 'Everthread' */
  readonly clientName?: string
  /**
   * Hosts, addresses and networks of your own where the authorization server may be, also by http. The origin of `url` always may.
   * @default EVERTHREAD_EGRESS_ALLOW, separated by commas; else the public internet only
   */
  readonly allow?: readonly string[]
  /** Where logins are kept. @default the store of the threads, sealed with EVERTHREAD_SECRET_KEY */
  readonly logins?: LoginStore
}

/** Whose login it is, and where. */
export interface LoginPlace {
  /** Null: threads without an account. */
  readonly account: string | null
  /** Null: threads without a user, who share a login. */
  readonly user: string | null
  /** The name of the server. */
  readonly source: string
}

/** Logins in a store of your own. The text has tokens: keep it as you keep passwords. */
export interface LoginStore {
  get(place: LoginPlace): Promise<KeptLogin | null>
  /** Writes it, unless another one was written since that version was read (null: there was none): then it returns false. */
  save(place: LoginPlace, text: string, version: KeptLogin['version'] | null): Promise<boolean>
}

export type McpServer = StdioServer | HttpServer

const PACKAGE = '@modelcontextprotocol/client'

const FIELDS = {
  any: ['name', 'tools', 'prefix', 'capabilities', 'needsApproval', 'timeout', 'connectTimeout'],
  stdio: ['command', 'args', 'env', 'cwd'],
  http: ['url', 'headers', 'tokens', 'oauth'],
  oauth: [
    ...['redirectUrl', 'clientId', 'clientSecret', 'clientMetadataUrl', 'issuer', 'scope', 'clientName'],
    ...['allow', 'logins'],
  ],
} as const
const ENTRY = [
  ...['name', 'as', 'description', 'needsApproval', 'idempotent', 'timeout'],
  ...['capabilities', 'readOnly', 'destructive'],
]

/** A call ends before its activity does, so that its error has a name. */
const LONGEST_CALL = LIMITS.toolTimeout - 10_000
/** A run asks for the list within 20 seconds. */
const LONGEST_CONNECT = 18_000

/** @throws ConfigError with everything that is wrong */
export function checkServer(given: unknown): void {
  if (!isObject(given)) throw new ConfigError(['mcpServer: expected { name, command or url, tools }'])
  const owner = `mcpServer '${String(given['name'])}'`
  const problems = [
    ...[...placeProblems(given), ...fieldProblems(given), ...toolsProblems(given['tools'])],
    ...oauthProblems(given),
  ]
  if (!isInstalled())
    problems.push(`expected ${PACKAGE} beside everthread, got none: run npm install ${PACKAGE}`)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${owner}: ${problem}`))
}

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGE)
    return true
  } catch {
    return false
  }
}

type Given = Readonly<Record<string, unknown>>

function placeProblems(given: Given): readonly string[] {
  const { command, url } = given
  if ((command === undefined) === (url === undefined))
    return ['expected either a command, of a program, or a url']
  const known = [...FIELDS.any, ...(url === undefined ? FIELDS.stdio : FIELDS.http)]
  const unknown = unknownFields(given, known)
  if (url === undefined)
    return typeof command === 'string' && command.trim() !== ''
      ? unknown
      : [...unknown, 'expected command as a text']
  return isHttpUrl(url)
    ? unknown
    : [...unknown, 'expected url as an address that begins with http:// or https://']
}

function unknownFields(given: Given, known: readonly string[]): readonly string[] {
  return Object.keys(given)
    .filter((field) => !known.includes(field))
    .map((field) => `has the unknown field ${field}${suggestName(field, known)}`)
}

function isHttpUrl(url: unknown): boolean {
  const text = url instanceof URL ? url.href : url
  return typeof text === 'string' && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function fieldProblems(given: Given): string[] {
  const { name, prefix = '', capabilities = [], needsApproval = false } = given
  const { timeout = 1, connectTimeout = 1, args = [], env = {}, headers = {}, tokens } = given
  const checks: readonly (readonly [boolean, string])[] = [
    [
      typeof name === 'string' && SOURCE_NAME.test(name),
      'expected a name of 1 to 64 letters, digits, "_" and "-"',
    ],
    [
      typeof prefix === 'string' && (prefix === '' || SOURCE_NAME.test(prefix)),
      'expected a prefix of letters, digits, "_" and "-"',
    ],
    [typeof needsApproval === 'boolean', 'expected needsApproval to be true or false'],
    [isDuration(timeout, LONGEST_CALL), `expected timeout as milliseconds from 1 to ${LONGEST_CALL}`],
    [
      isDuration(connectTimeout, LONGEST_CONNECT),
      `expected connectTimeout as milliseconds from 1 to ${LONGEST_CONNECT}`,
    ],
    [Array.isArray(args) && args.every((arg) => typeof arg === 'string'), 'expected args as a list of texts'],
    [isTexts(env), 'expected env as texts by name'],
    [isTexts(headers), 'expected headers as texts by name'],
    [tokens === undefined || typeof tokens === 'function', 'expected tokens as a function'],
  ]
  return [
    ...checks.flatMap(([isRight, problem]) => (isRight ? [] : [problem])),
    ...capabilityProblems(capabilities),
  ]
}

/** Where a person logs in, or comes back to: https, or http of their own machine. */
export function isLoginUrl(url: URL): boolean {
  const { protocol, hostname, username, password } = url
  const isOwn = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  return (protocol === 'https:' || (protocol === 'http:' && isOwn)) && username === '' && password === ''
}

/** The tool that stands for those of a server until its person has logged in. */
export function connectToolName({ name, prefix = '' }: Pick<McpServer, 'name' | 'prefix'>): string {
  return `${prefix}connect_${name}`
}

function oauthProblems({ oauth, tokens, name, prefix }: Given): readonly string[] {
  if (oauth === undefined) return []
  if (!isObject(oauth)) return ['expected oauth as { redirectUrl }']
  const { redirectUrl, clientSecret, clientId, issuer, clientMetadataUrl: described, allow, logins } = oauth
  const texts = ['clientId', 'clientSecret', 'issuer', 'scope', 'clientName'] as const
  const shown = connectToolName({ name: String(name), prefix: typeof prefix === 'string' ? prefix : '' })
  const checks: readonly (readonly [boolean, string])[] = [
    [tokens === undefined, 'expected either tokens or oauth'],
    [
      isLoginPage(redirectUrl),
      'expected redirectUrl as an https address, or an http address of this machine',
    ],
    [
      clientSecret === undefined || (clientId !== undefined && issuer !== undefined),
      'expected clientSecret with clientId and issuer',
    ],
    [
      described === undefined || (typeof described === 'string' && /^https:\/\/[^/]+\/./.test(described)),
      'expected clientMetadataUrl as an https address with a path',
    ],
    [isAllowed(allow), 'expected allow as a list of hosts, addresses and networks'],
    [
      logins === undefined || (isObject(logins) && ['get', 'save'].every((one) => isFunction(logins[one]))),
      'expected logins with get() and save()',
    ],
    [SOURCE_NAME.test(shown), `expected a prefix and a name for which "${shown}" has at most 64 characters`],
    ...texts.map((field): readonly [boolean, string] => [
      oauth[field] === undefined || (typeof oauth[field] === 'string' && oauth[field] !== ''),
      `expected ${field} as a text`,
    ]),
  ]
  return [
    ...unknownFields(oauth, FIELDS.oauth),
    ...checks.flatMap(([isRight, problem]) => (isRight ? [] : [problem])),
  ].map((problem) => `oauth: ${problem}`)
}

function isLoginPage(value: unknown): boolean {
  const url = value instanceof URL ? value : typeof value === 'string' ? URL.parse(value) : null
  return url !== null && isLoginUrl(url) && url.hash === ''
}

function isAllowed(allow: unknown): boolean {
  if (allow === undefined) return true
  if (!Array.isArray(allow) || !allow.every((entry) => typeof entry === 'string')) return false
  try {
    return readExceptions(allow).hosts.size >= 0
  } catch {
    return false
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function capabilityProblems(capabilities: unknown): readonly string[] {
  if (!Array.isArray(capabilities)) return ['expected capabilities as a list']
  return capabilities.flatMap((capability) => capabilityProblem(capability) ?? [])
}

function isDuration(value: unknown, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most
}

function isTexts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
}

function toolsProblems(tools: unknown): readonly string[] {
  if (tools === 'all') return []
  if (!Array.isArray(tools) || tools.length === 0)
    return ["expected tools as a list of the names that agents may call, or 'all'"]
  return tools.flatMap((entry: unknown) => {
    if (typeof entry === 'string') return []
    if (!isObject(entry) || typeof entry['name'] !== 'string')
      return ['expected an entry of tools as a name, or as { name }']
    const owner = `tools '${entry['name']}'`
    const { as: shown, description = '', capabilities = [], destructive, timeout = 1 } = entry
    const flags = ['needsApproval', 'idempotent', 'readOnly'].filter(
      (field) => entry[field] !== undefined && typeof entry[field] !== 'boolean',
    )
    return [
      ...unknownFields(entry, ENTRY),
      ...flags.map((field) => `expected ${field} to be true or false`),
      ...(shown === undefined || (typeof shown === 'string' && SOURCE_NAME.test(shown))
        ? []
        : ['expected "as" to be of letters, digits, "_" and "-"']),
      ...(typeof description === 'string' ? [] : ['expected description as a text']),
      ...(isDuration(timeout, LONGEST_CALL)
        ? []
        : [`expected timeout as milliseconds from 1 to ${LONGEST_CALL}`]),
      ...[destructiveProblem(destructive) ?? []].flat(),
      ...capabilityProblems(capabilities),
    ].map((problem) => `${owner}: ${problem}`)
  })
}
