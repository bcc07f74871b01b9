/**
 * The API process: it serves the threads over HTTP with the package's own server. Killed at any moment, the next one listens
 * on the same port, and knows nothing of the one before.
 */
import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'
import { serveThreads } from 'everthread/server'

import type { ApiPlace, ApiReport } from './places.js'

const place = JSON.parse(process.argv[2] ?? '') as ApiPlace
const say = (report: ApiReport): void => {
  if (process.connected) process.send?.(report)
}

// A driver that died leaves no server behind.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
const { taskQueue, store, port, token } = place
const client = new ThreadClient({
  client: new Client({ connection: Connection.lazy({ address: place.address }) }),
  taskQueue,
  store,
})
// One client makes all requests, and comes back at once for whatever was cut.
await serveThreads({ client, tokens: [{ token }], rateLimit: false, port })
say({ kind: 'running' })
