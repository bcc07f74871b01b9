import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A TCP proxy before a gRPC server that can lose an answer: the request is there, and its connection is cut. */
export interface LosingProxy {
  readonly address: string
  /** Loses the answer of that number, counted from now. */
  lose(answer: number): void
  /** Whether it came to that. Nothing is lost any more. */
  stop(): boolean
  /** The server says nothing any more; afterwards its connections are cut, so that callers make new ones. */
  silence(silent: boolean): void
  close(): Promise<void>
}

/** Type of the frame that begins an answer, and the bytes of a frame's head, in HTTP/2. */
const HEADERS = 1
const HEAD = 9

export async function startLosingProxy(server: string): Promise<LosingProxy> {
  const [host = '', port = ''] = server.split(':')
  const sockets = new Set<Socket>()
  let left = 0
  let lost = false
  let silent = false

  const proxy = createServer((client) => {
    const upstream = connect(Number(port), host)
    const answers = countAnswers()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => sockets.delete(socket))
    }
    client.pipe(upstream)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
    upstream.on('data', (chunk: Buffer) => {
      if (silent) return
      const before = left
      if (before > 0) left = Math.max(0, left - answers(chunk))
      else answers(chunk)
      if (before > 0 && left === 0) {
        lost = true
        client.destroy()
      } else client.write(chunk)
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port: own } = proxy.address() as AddressInfo
  return {
    address: `127.0.0.1:${own}`,
    lose(answer) {
      left = answer
      lost = false
    },
    stop() {
      left = 0
      return lost
    },
    silence(now) {
      silent = now
      if (!silent) for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

/** Counts the answers that begin in what a server sends: a header frame opens each, and another one may end it. */
function countAnswers(): (chunk: Buffer) => number {
  const seen = new Set<number>()
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    let begun = 0
    while (rest.length >= HEAD) {
      const length = HEAD + rest.readUIntBE(0, 3)
      if (rest.length < length) break
      const stream = rest.readUInt32BE(5)
      if (rest[3] === HEADERS && !seen.has(stream)) begun += 1
      if (rest[3] === HEADERS) seen.add(stream)
      rest = rest.subarray(length)
    }
    return begun
  }
}
