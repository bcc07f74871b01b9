import type { ThreadApp } from './server-context.js'

const DESCRIPTION = `Durable agent threads. A token has the threads of its account, and an operator's those of all: the
thread of another account answers as one that does not exist. Times are microseconds since 1970. Objects may get fields and
texts may get values in later versions: pass over what you do not know. Thread endpoints of your own, below
/threads/{threadId}/api/, are not described here. The routes below /tool-calls are there when the server has tool workers.`

/** Serves the OpenAPI document of the routes that were added before, and later. */
export function describeApp(app: ThreadApp): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  app.doc31('/openapi.json', {
    openapi: '3.1.0',
    info: {
      title: 'Everthread',
      version: '0.1.0',
      description: DESCRIPTION.replaceAll('\n', ' '),
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/' }],
  })
}
