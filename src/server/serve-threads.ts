import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { ConfigError } from '../protocol/errors.js'
import { createThreadApp } from './thread-app.js'
import type { ThreadAppOptions } from './thread-app.js'

/** How long requests in flight may take when a server closes: orchestrators kill it after 30 s, and the store closes before. */
const CLOSE_GRACE = 10_000

/** Milliseconds between two looks at connections while it closes. */
const LOOK = 100

export interface ServeThreadsOptions extends ThreadAppOptions {
  /** 0: a free one. @default 8080 */
  readonly port?: number
  /** @default '127.0.0.1': reachable from this machine only */
  readonly hostname?: string
  /** Milliseconds that those in flight have when it closes. @default 10,000 */
  readonly closeGrace?: number
}

/** A server that listens. */
export interface ThreadServer {
  readonly url: string
  /**
   * Takes no more requests, ends streams of events, and resolves when those in flight are answered, or cut off after the
   * grace; asked again, it is the same end. The client stays open.
   */
  close(): Promise<void>
}

const REFUSALS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'one that another process listens on: end that one, or choose another port',
  EACCES: 'one that this user may not open: choose a port from 1024 on',
  EADDRNOTAVAIL:
    'a hostname that is no address of this machine: choose 127.0.0.1, or 0.0.0.0 for all of its addresses',
  ENOTFOUND: 'a hostname that nobody knows: choose 127.0.0.1, or 0.0.0.0 for all addresses of this machine',
}

/** Why nobody can listen there, in a sentence with the port and what to do. */
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

/** Listens for HTTP. @throws ConfigError, also for a port that is in use */
export async function serveThreads({
  port = 8080,
  hostname = '127.0.0.1',
  closeGrace = CLOSE_GRACE,
  ...options
}: ServeThreadsOptions): Promise<ThreadServer> {
  const closing = new AbortController()
  const signals = [closing.signal, ...(options.closing === undefined ? [] : [options.closing])]
  const app = createThreadApp({ ...options, closing: AbortSignal.any(signals) })
  // Without a factory of one's own it makes servers of HTTP 1.
  const server = serve({ fetch: app.fetch, port, hostname }) as Server
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
      closing.abort()
      // A reader that takes nothing, a paused download, an endpoint that does not answer.
      const late = setTimeout(() => server.closeAllConnections(), closeGrace)
      // Node closes those that are idle now; one whose stream has just ended would be kept for five seconds more.
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
