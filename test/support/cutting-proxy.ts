import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

export interface CuttingProxy {
  /** For clients, instead of the server's own. */
  readonly endpoint: string
  /** Connections so far. */
  connections(): number
  /** Connections that are open now. */
  open(): number
  /** Breaks the connection on which the bytes of that direction, of all connections since now, go over the number. */
  cut(direction: 'up' | 'down', bytes: number, times?: number): void
  /** Passes that many bytes more in that direction, and then nothing. */
  stall(direction: 'up' | 'down', bytes: number): void
  /** Passes everything again on new connections. */
  heal(): void
  stop(): Promise<void>
}

interface Rule {
  readonly kind: 'cut' | 'stall'
  readonly direction: 'up' | 'down'
  readonly bytes: number
  times: number
  seen: number
}

/** A TCP proxy before a server, whose connections break where a test wants it. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let connections = 0
  let rule: Rule | undefined

  const server = createServer((client) => {
    connections += 1
    clients.add(client)
    client.on('close', () => clients.delete(client))
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    pass(client, upstream, 'up', end)
    pass(upstream, client, 'down', end)
  })

  function pass(from: Socket, to: Socket, direction: 'up' | 'down', end: () => void): void {
    from.on('data', (chunk: Buffer) => {
      if (rule?.direction === direction && rule.times > 0) {
        rule.seen += chunk.length
        if (rule.seen > rule.bytes) {
          if (rule.kind === 'stall') return
          rule.times -= 1
          rule.seen = 0
          end()
          return
        }
      }
      if (!to.write(chunk)) {
        from.pause()
        to.once('drain', () => from.resume())
      }
    })
    from.on('end', () => to.end())
    from.on('close', () => to.destroy())
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Expected a TCP address')
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    connections: () => connections,
    open: () => clients.size,
    cut: (direction, bytes, times = Infinity) =>
      void (rule = { kind: 'cut', direction, bytes, times, seen: 0 }),
    stall: (direction, bytes) => void (rule = { kind: 'stall', direction, bytes, times: Infinity, seen: 0 }),
    heal() {
      rule = undefined
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
