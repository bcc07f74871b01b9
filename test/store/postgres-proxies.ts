import { createConnection, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

/** The statement on the wire, and not a table's name. */
export const COMMIT = 'commit\0'

/** Passes everything on, but ends the connection of the transaction that says so, at its commit. */
export async function cuttingProxy(port: number, when: 'before' | 'after'): Promise<Server> {
  let cut = false
  const proxy = createServer((client) => {
    const upstream = createConnection(port, '127.0.0.1')
    const end = endTogether(client, upstream)
    let marked = false
    let committing = false
    client.on('data', (data) => {
      marked ||= data.includes('cut here')
      committing = marked && !cut && data.includes(COMMIT)
      if (!committing) upstream.write(data)
      else if (when === 'before') [cut] = [true, end()]
      else upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (!committing) return void client.write(data)
      cut = true
      end()
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Passes everything on; where it is told to, the server takes leave in the same packet that says it is ready. */
export async function endingProxy(
  port: number,
): Promise<{ proxy: Server; endNext(connections: number): void }> {
  let left = 0
  const proxy = createServer((client) => {
    const upstream = createConnection(port, '127.0.0.1')
    let isReady = false
    client.on('data', (data) => upstream.write(data))
    upstream.on('data', (data) => {
      const becomesReady = !isReady && data.subarray(-READY.length).equals(READY)
      isReady ||= becomesReady
      if (!becomesReady || left === 0) return void client.write(data)
      left -= 1
      client.end(Buffer.concat([data, TERMINATED]))
    })
    endTogether(client, upstream)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return { proxy, endNext: (connections) => void (left = connections) }
}

/** As the server says it to a connection that an administrator ends. */
const TERMINATED = errorMessage('FATAL', '57P01', 'terminating connection due to administrator command')

function errorMessage(severity: string, code: string, words: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${words}\0\0`)
  const head = Buffer.from([0x45, 0, 0, 0, 0])
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/** Passes everything on, but nothing more either way on the connection that says `cut here`, from the word on. */
export async function silentProxy(port: number, word: string): Promise<Server> {
  let fell = false
  const proxy = createServer((client) => {
    const upstream = createConnection(port, '127.0.0.1')
    let marked = false
    let silent = false
    const passing = (data: Buffer): boolean => {
      marked ||= data.includes('cut here')
      if (marked && !fell && data.includes(word)) fell = silent = true
      return !silent
    }
    client.on('data', (data) => passing(data) && upstream.write(data))
    upstream.on('data', (data) => passing(data) && client.write(data))
    endTogether(client, upstream)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}

/** Neither outlives the other. Answers what ends both. */
function endTogether(client: Socket, upstream: Socket): () => void {
  const end = (): void => {
    client.destroy()
    upstream.destroy()
  }
  for (const socket of [client, upstream]) {
    socket.on('error', end)
    socket.on('close', end)
  }
  return end
}

/** Passes everything on, and counts what the client sends: one for each piece. */
export async function countingProxy(port: number): Promise<{ proxy: Server; sent(): number }> {
  let sent = 0
  const proxy = createServer((client) => {
    const upstream = createConnection(port, '127.0.0.1')
    endTogether(client, upstream)
    client.on('data', (data) => {
      sent += 1
      upstream.write(data)
    })
    upstream.on('data', (data) => client.write(data))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return { proxy, sent: () => sent }
}
