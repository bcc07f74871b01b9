import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A TCP proxy before a server, for one client process, whose network can be made bad. */
export interface SlowProxy {
  readonly port: number
  /** Breaks all connections that are open. */
  cut(): void
  /** Each piece of bytes comes that much later, from now on; 0: at once. */
  delay(milliseconds: number): void
  /** Nothing passes from now on, and nobody is told; then everything does. */
  stall(stalled: boolean): void
  stop(): Promise<void>
}

/** Starts it on a port of its own before a server of this machine, which may be away. */
export async function startSlowProxy(targetPort: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  let late = 0
  let stalled: { readonly over: Promise<void>; readonly end: () => void } | null = null

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    void pass(client, upstream)
    void pass(upstream, client)
  })

  /** One piece after the other, so that none overtakes. */
  async function pass(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const piece of from) {
        if (late > 0) await delay(late)
        if (stalled !== null) await stalled.over
        if (!to.write(piece as Buffer)) await Promise.race([once(to, 'drain'), once(to, 'close')])
      }
    } catch {
      // It was cut.
    }
    to.destroy()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Expected a TCP address')
  return {
    port: address.port,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    delay(milliseconds) {
      late = milliseconds
    },
    stall(now) {
      stalled?.end()
      stalled = now ? endless() : null
    },
    async stop() {
      stalled?.end()
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function endless(): { readonly over: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  return { over, end: () => end() }
}
