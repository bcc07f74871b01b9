import type { ThreadApp } from './server-context.js'

const DESCRIPTION = `Durable agent threads. A token has the threads of its account, and an operator's those of all: the
thread of another account answers as one that does not exist. Times are microseconds since 1970. Objects may get fields and
texts may get values in later versions: pass over what you do not know. Thread endpoints of your own, below
/threads/{threadId}/api/, are not described here. The routes below /tool-calls are there when the server has tool workers.`

const HEAD = {
  openapi: '3.1.0',
  info: {
    title: 'Everthread',
    version: '0.1.0',
    description: DESCRIPTION.replaceAll('\n', ' '),
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  servers: [{ url: '/' }],
}

/** Serves the OpenAPI document of the routes that were added before, and later. */
export function describeApp(app: ThreadApp): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  let text: string | undefined
  // Made once, for making it takes a core for tens of milliseconds, and nobody has to have a token for it.
  app.get('/openapi.json', (context) => {
    text ??= JSON.stringify(app.getOpenAPI31Document(HEAD))
    return context.body(text, 200, { 'Content-Type': 'application/json' })
  })
}
