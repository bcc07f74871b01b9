import { ThreadClient } from 'everthread/client'

import { listen } from './listen.ts'

/** The HTTP server of `up`, on port 8080 or EVERTHREAD_HTTP_PORT, else on a free one. */
const token = process.env['DEMO_TOKEN'] ?? ''
const client = new ThreadClient()
const port = Number(process.env['EVERTHREAD_HTTP_PORT'] ?? 8080)
const server = await listen({ client, tokens: [{ token }], port })
process.once('SIGTERM', () => void server.close().then(() => client.close()))
console.log(`server: ${server.url}`)
