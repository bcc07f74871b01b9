import { afterAll, beforeAll, beforeEach, expect } from 'vitest'

import type { ThreadClient, ThreadHandle } from '../../src/client/index.js'
import { defineThreadEndpoint } from '../../src/index.js'
import type { ThreadEndpoint } from '../../src/index.js'
import { createThreadApp } from '../../src/server/index.js'
import type { RequestEntry } from '../../src/server/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { deskOfTests as desk } from './desk-of-tests.js'
import { ACME, GLOBEX, OPERATOR } from './server-fixture.js'

/** The code that the current test runs in its endpoint. */
let work: ThreadEndpoint

export const routes = {
  'work.post': defineThreadEndpoint((...given) => work(...given)),
  'orders/[id]': defineThreadEndpoint((_request, state, { id }) =>
    Response.json({ id, thread: state.threadId }),
  ),
  'files/[*]': defineThreadEndpoint((_request, _state, params) => Response.json(params)),
  page: defineThreadEndpoint(() => Response.redirect('https://example.org/', 302)),
}

type Code = (...given: Parameters<ThreadEndpoint>) => unknown

/** A server with endpoints, a worker, and a thread of its own for each test of a file. */
export function endpointFixture(server?: 'dev') {
  let env: TestEnvironment
  let thread: ThreadHandle
  let app: ReturnType<typeof createThreadApp>
  const logged: RequestEntry[] = []

  beforeAll(async () => {
    const chat = scriptedModel(({ messages }) => ({ text: `Heard: ${messages.at(-1)?.text}` }))
    env = await createTestEnvironment({
      registry: desk,
      models: { chat },
      ...(server !== undefined && { server }),
    })
    app = appWith({})
  })
  afterAll(() => env.close())
  beforeEach(async () => {
    thread = await env.threads.create({ agent: 'support', account: 'acme' })
  })

  function appWith(more: { readonly timeout?: number }): ReturnType<typeof createThreadApp> {
    return createThreadApp({
      client: env.threads as ThreadClient,
      tokens: [{ token: OPERATOR }, { token: ACME, account: 'acme' }, { token: GLOBEX, account: 'globex' }],
      endpoints: { routes, registry: desk, env: { SHOP_KEY: 'sesame-sesame' }, ...more },
      log: (entry) => logged.push(entry),
    })
  }

  async function ask(
    path: string,
    { token = ACME, method = 'GET', id = thread.threadId, headers = {}, of = app } = {},
  ): Promise<Response> {
    return of.request(`/threads/${id}/api/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
    })
  }

  /** Runs code in an endpoint, which answers its result as JSON. */
  async function inEndpoint(code: Code): Promise<Response> {
    return run(async (...given) => Response.json({ answer: (await code(...given)) ?? null }))
  }

  async function run(endpoint: ThreadEndpoint, more: Parameters<typeof ask>[1] = {}): Promise<Response> {
    work = endpoint
    return ask('work', { method: 'POST', ...more })
  }

  return {
    logged,
    ask,
    run,
    inEndpoint,
    /** Like `run`, on a server with a timeout of half a second for endpoints. */
    hurried: (endpoint: ThreadEndpoint) => run(endpoint, { of: appWith({ timeout: 500 }) }),
    async answered(code: Code): Promise<unknown> {
      const response = await inEndpoint(code)
      expect(response.status).toBe(200)
      return ((await response.json()) as { answer: unknown }).answer
    },
    get env() {
      return env
    },
    get app() {
      return app
    },
    get thread() {
      return thread
    },
  }
}
