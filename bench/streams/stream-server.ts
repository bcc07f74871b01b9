/** A process with an HTTP server of threads, and the clients that hold its streams of events open. */
import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'
import type { StoreOptions } from 'everthread/client'
import { serveThreads } from 'everthread/server'

import { answerOrders } from '../processes/answer-orders.js'

export interface StreamPlace {
  readonly address: string
  readonly taskQueue: string
  readonly store: StoreOptions
}

const TOKEN = 'token-of-the-readers-of-a-bench'

const { address, taskQueue, store } = JSON.parse(process.argv[2] ?? '') as StreamPlace
const connection = await Connection.connect({ address })
const threads = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
const server = await serveThreads({ client: threads, port: 0, tokens: [{ token: TOKEN }], page: false })

let closing = new AbortController()
let ends: Promise<number>[] = []

/** The orders of this process. */
const orders = {
  /** Resolves when each stream has had its first bytes. */
  async open({ threadIds, each }: { readonly threadIds: readonly string[]; readonly each: number }) {
    closing = new AbortController()
    const wanted = threadIds.flatMap((threadId) => Array.from({ length: each }, () => threadId))
    const opened = await Promise.all(wanted.map(openStream))
    ends = opened.map(countBytes)
    return opened.length
  },
  /** Bytes that all of them have had. */
  async close() {
    closing.abort()
    const bytes = await Promise.all(ends)
    return bytes.reduce((sum, one) => sum + one, 0)
  },
}
export type StreamServer = typeof orders

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function openStream(threadId: string): Promise<Reader> {
  const response = await fetch(`${server.url}/threads/${threadId}/events`, {
    headers: { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream' },
    signal: closing.signal,
  })
  if (!response.ok || response.body === null)
    throw new Error(`Expected a stream of events, got ${response.status}: ${await response.text()}`)
  return response.body.getReader()
}

async function countBytes(reader: Reader): Promise<number> {
  let bytes = 0
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.length
  } catch (error) {
    if (!closing.signal.aborted) throw error
  }
  return bytes
}

answerOrders(orders)
