import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest'

import type { Registry } from '../../../src/index.js'
import { createThreadApp } from '../../../src/server/index.js'
import type { RequestEntry, ThreadAppOptions } from '../../../src/server/index.js'
import { createWorkingFixture } from '../../client/working-fixture.js'
import type { WorkingFixture } from '../../client/working-fixture.js'
import { pageDesk } from '../../page/page-desk.js'
import { connectMcp } from '../../support/mcp-client.js'
import type { Era, McpUser } from '../../support/mcp-client.js'
import { startDevServer } from '../../support/servers.js'
import type { DevServer } from '../../support/servers.js'

export const OPERATOR = 'token-of-an-operator'
/** Of Mia, who is a manager, and of Ben, who is not. */
export const MIA = 'token-of-mia-of-acme'
export const BEN = 'token-of-ben-of-acme'
export const GLOBEX = 'token-of-account-globex'

const TOKENS = [
  { token: OPERATOR },
  { token: MIA, account: 'acme', user: 'mia', roles: ['manager'] },
  { token: BEN, account: 'acme', user: 'ben' },
  { token: GLOBEX, account: 'globex' },
]

interface Connection {
  readonly token?: string
  readonly era?: Era
  readonly asks?: boolean
}

/** The application with `/mcp` and a worker, of the page's desk unless a test has its own: one Temporal and one worker for a file of tests. */
export function mcpFixture(options: Partial<ThreadAppOptions> = {}, registry: Registry = pageDesk()) {
  const logged: RequestEntry[] = []
  const open: McpUser[] = []
  let server: DevServer
  let fixture: WorkingFixture
  let app: ReturnType<typeof createThreadApp>
  beforeAll(async () => {
    server = await startDevServer()
    const workflowBundle = { codePath: inject('workflowBundlePath') }
    fixture = await createWorkingFixture({ registry, server, workflowBundle })
    const log = (entry: RequestEntry): void => void logged.push(entry)
    const authentication = options.authenticate === undefined ? { tokens: TOKENS } : {}
    app = createThreadApp({ client: fixture.threads, mcp: true, log, ...authentication, ...options })
  })
  beforeEach(() => void logged.splice(0))
  afterEach(async () => {
    for (const user of open.splice(0)) await user.close()
  })
  afterAll(async () => {
    await fixture.close()
    await server.stop()
  })
  return {
    logged,
    get fixture() {
      return fixture
    },
    get app() {
      return app
    },
    /** A request as any program may send it. */
    async post(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
      return app.request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${MIA}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
    },
    async connect({ token = MIA, ...rest }: Connection = {}): Promise<McpUser> {
      const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
        fetch: async (url, init) => app.request(url instanceof URL ? url.href : url, init),
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      })
      const user = await connectMcp({ transport, ...rest })
      open.push(user)
      return user
    },
  }
}
