import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { ConfigError } from '../protocol/errors.js'
import { checkSweeping, sweepUntil } from './sweeping.js'
import type { Sweeping } from './sweeping.js'
import { createThreadApp } from './thread-app.js'
import type { ThreadAppOptions } from './thread-app.js'

/** Time for requests in flight when a server closes: orchestrators kill it after 30 s, and the store must close before. */
const CLOSE_GRACE = 10_000

/** Milliseconds between two searches for idle connections while it closes. */
const LOOK = 100

export interface ServeThreadsOptions extends ThreadAppOptions {
  /** 0 takes a free port. @default 8080 */
  readonly port?: number
  /** @default '127.0.0.1': reachable from this machine only */
  readonly hostname?: string
  /** Milliseconds that requests in flight may take when the server closes. @default 10,000 */
  readonly closeGrace?: number
  /** Whether it delivers webhooks, of the whole store: any number of servers may, and one at a time has a webhook. @default true */
  readonly deliversWebhooks?: boolean
  /** What it ends and deletes at times of its own, of the whole store. @default nothing: a scheduler sweeps */
  readonly sweep?: Sweeping
}

/** A server that listens. */
export interface ThreadServer {
  readonly url: string
  /**
   * Accepts no more requests, ends streams of events, and resolves when the requests in flight are answered, or ended after
   * `closeGrace`. A second call returns the same promise. The client stays open.
   */
  close(): Promise<void>
}

const REFUSALS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'one that another process listens on: end that one, or choose another port',
  EACCES: 'one that this user may not open: choose a port from 1024 on',
  EADDRNOTAVAIL:
    'a hostname that is no address of this machine: choose 127.0.0.1, or 0.0.0.0 for all of its addresses',
  ENOTFOUND: 'an unknown hostname: choose 127.0.0.1, or 0.0.0.0 for all addresses of this machine',
}

/** Explains why the server cannot listen, with the port and what to do. */
function listenError(
  error: NodeJS.ErrnoException,
  { port, hostname }: { readonly port: number; readonly hostname: string },
): Error {
  const got = REFUSALS[error.code ?? '']
  if (got === undefined) return error
  return new ConfigError([
    `Expected port ${port} of ${hostname} to be free to listen on, got ${got} ("port" and "hostname" of serveThreads, ` +
      '--port and --hostname of everthread serve).',
  ])
}

/** Serves threads over HTTP. @throws ConfigError, also for a port that is in use */
export async function serveThreads({
  port = 8080,
  hostname = '127.0.0.1',
  closeGrace = CLOSE_GRACE,
  deliversWebhooks = true,
  sweep,
  ...options
}: ServeThreadsOptions): Promise<ThreadServer> {
  if (sweep !== undefined) checkSweeping(sweep)
  const closing = new AbortController()
  const signals = [closing.signal, ...(options.closing === undefined ? [] : [options.closing])]
  const signal = AbortSignal.any(signals)
  const { fetch } = createThreadApp({ ...options, closing: signal })
  const server = await listen({ fetch, port, hostname, closeGrace, onClose: () => closing.abort() })
  const delivering = deliversWebhooks ? options.client.webhooks.deliver({ signal }) : Promise.resolve()
  // Not waited for: a sweep may take minutes, and one that is interrupted does no harm.
  if (sweep !== undefined) void sweepUntil(options.client, sweep, signal)
  let end: Promise<void> | undefined
  const close = async (): Promise<void> => void (await Promise.all([server.close(), delivering]))
  return { url: server.url, close: () => (end ??= close()) }
}

interface Listen {
  readonly fetch: (request: Request, env: object) => Response | Promise<Response>
  readonly port: number
  readonly hostname: string
  /** @default 10,000 */
  readonly closeGrace?: number
  /** Ends streams of events. */
  readonly onClose: () => void
}

/** Listens for HTTP. @throws ConfigError for a port that is in use */
export async function listen({
  fetch,
  port,
  hostname,
  closeGrace = CLOSE_GRACE,
  onClose,
}: Listen): Promise<ThreadServer> {
  // `serve` makes an HTTP/1 server unless it gets a factory.
  const server = serve({ fetch, port, hostname }) as Server
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, { port, hostname })))
  })
  // A server that listens on a port has an address of this shape.
  const { port: taken } = server.address() as AddressInfo
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  let end: Promise<void> | undefined
  const close = (): Promise<void> =>
    new Promise((resolve, reject) => {
      onClose()
      // Ends stuck readers, paused downloads, and endpoints that do not answer.
      const late = setTimeout(() => server.closeAllConnections(), closeGrace)
      // `close` ends connections that are idle now; one whose stream ends afterwards would stay for five more seconds.
      const idle = setInterval(() => server.closeIdleConnections(), LOOK)
      server.close((error) => {
        clearTimeout(late)
        clearInterval(idle)
        if (error === undefined) resolve()
        else reject(error)
      })
    })
  return { url: `http://${host}:${taken}`, close: () => (end ??= close()) }
}
