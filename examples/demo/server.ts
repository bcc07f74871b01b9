import { ThreadClient } from 'everthread/client'
import { serveThreads } from 'everthread/server'

/** The HTTP server of `up`, on port 8080 or EVERTHREAD_HTTP_PORT, else on a free one. */
const token = process.env['DEMO_TOKEN'] ?? ''
const client = new ThreadClient()
const preferred = Number(process.env['EVERTHREAD_HTTP_PORT'] ?? 8080)
const listen = (port: number) => serveThreads({ client, tokens: [{ token }], port })
const server = await listen(preferred).catch((error: unknown) => {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return listen(0)
  throw error
})
process.once('SIGTERM', () => void server.close().then(() => client.close()))
console.log(`server: ${server.url}`)
