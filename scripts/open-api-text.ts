import { ThreadClient } from '../src/client/index.js'
import { createThreadApp } from '../src/server/index.js'

/** The OpenAPI document of the HTTP server as it is published. Nothing is connected to, and nothing opened. */
export async function openApiText(): Promise<string> {
  const app = createThreadApp({
    client: new ThreadClient(),
    tokens: [{ token: 'nobody-comes-with-this' }],
    toolWorkers: [{ token: 'nor-a-worker-with-this', taskQueues: ['any'] }],
  })
  const document: unknown = await (await app.request('/openapi.json')).json()
  return `${JSON.stringify(document, null, 2)}\n`
}
