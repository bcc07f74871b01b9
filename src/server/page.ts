/**
 * The page for people at `/`: the files that `npm run build` makes of `src/page`, and what it has to know of this server.
 *
 * Owns: their routes, headers and caching. Does not own: the page itself, which calls the public routes only, with the token
 * that a person gives it. Nothing here needs a token: the files are the same for everybody.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { ThreadClient } from '../client/thread-client.js'
import { ProblemError } from './error-response.js'
import type { ThreadApp, ThreadContext } from './server-context.js'

/** What the page for people shows beside threads. */
export interface PageOptions {
  /**
   * The Temporal UI with its namespace, such as `http://localhost:8233/namespaces/default`: each thread has a link to its
   * workflow there.
   * @default no link
   */
  readonly temporalUi?: string
}

/** The address of a namespace in a Temporal UI. */
export function namespaceUrl(address: string, { temporal }: ThreadClient): string {
  return `${address}/namespaces/${encodeURIComponent(temporal.options.namespace)}`
}

/** Of the package, from the sources and from the built files. */
const PACKAGE = new URL('../../', import.meta.url)
const BUILT = new URL('dist/page/', PACKAGE)

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
}

/** Scripts, styles and answers of this server only: what an agent or a tool writes can load and send nothing. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:"],
  ...["connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"],
].join('; ')

interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly packed: Buffer
  readonly tag: string
}

/** Adds `/`, the files below `/page/`, and `/page/config.json`. `folder` has the built files. */
export function addPageRoutes(app: ThreadApp, { temporalUi }: PageOptions, folder: URL = BUILT): void {
  let files: ReadonlyMap<string, PageFile> | undefined
  const find = (name: string): PageFile | undefined => (files ??= readFiles(folder)).get(name)
  app.get('/', (context) => {
    const page = find('index.html')
    if (page === undefined) throw notBuilt()
    // A mounted application may be asked for without a slash at the end: its files are below that path all the same.
    const { pathname } = new URL(context.req.url)
    const base = pathname.endsWith('/') ? './' : `./${pathname.slice(pathname.lastIndexOf('/') + 1)}/`
    if (base === './') return answerFile(context, page, 'no-cache')
    return answerFile(context, pageFile('index.html', withBase(page.body, base)), 'no-cache')
  })
  app.get('/page/config.json', (context) =>
    context.json({ temporalUi: temporalUi?.replace(/\/+$/, '') ?? null, version: packageVersion() }),
  )
  app.get('/page/:file', (context) => {
    const file = find(context.req.param('file'))
    if (file === undefined)
      throw new ProblemError(404, 'not_found', 'Expected a file of the page, got another name.')
    return answerFile(context, file, 'public, max-age=31536000, immutable')
  })
}

function notBuilt(): ProblemError {
  return new ProblemError(
    404,
    'not_found',
    'Expected the page in dist/page, got none: "npm run build" makes it; everything else works without it.',
  )
}

/** Read once, when somebody first opens the page; empty if it is not built. */
function readFiles(folder: URL): ReadonlyMap<string, PageFile> {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder)
  return new Map(names.map((name) => [name, pageFile(name, readFileSync(new URL(name, folder)))]))
}

function pageFile(name: string, body: Buffer): PageFile {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { type, body, packed: gzipSync(body), tag }
}

/** The path of a request is percent-encoded, so that it ends no attribute. */
function withBase(html: Buffer, base: string): Buffer {
  return Buffer.from(html.toString().replaceAll('="./page/', () => `="${base}page/`))
}

function answerFile(
  context: ThreadContext,
  { type, body, packed, tag }: PageFile,
  caching: string,
): Response {
  const headers = {
    'Cache-Control': caching,
    'Content-Security-Policy': POLICY,
    ETag: tag,
    Vary: 'Accept-Encoding',
  }
  if (context.req.header('if-none-match')?.includes(tag) === true) return context.body(null, 304, headers)
  const isPacked = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '')
  return context.body(new Uint8Array(isPacked ? packed : body), 200, {
    ...headers,
    'Content-Type': type,
    ...(isPacked && { 'Content-Encoding': 'gzip' }),
  })
}

/** Our own file has this shape. */
function packageVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}
