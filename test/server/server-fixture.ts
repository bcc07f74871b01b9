import { createThreadApp } from '../../src/server/index.js'
import type { RequestEntry, ThreadAppOptions } from '../../src/server/index.js'
import { servedFixture } from '../client/client-fixture.js'

export const OPERATOR = 'token-of-an-operator'
export const ACME = 'token-of-account-acme'
export const GLOBEX = 'token-of-account-globex'

const TOKENS = [{ token: OPERATOR }, { token: ACME, account: 'acme' }, { token: GLOBEX, account: 'globex' }]

export interface Call {
  readonly token?: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer with its body, which is read. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- each test has its own shape of the body
  readonly body: any
}

/** The server's application on a store and a Temporal server of their own; no worker runs. */
export function serverFixture(options: Partial<ThreadAppOptions> = {}) {
  const fixture = servedFixture()
  const logged: RequestEntry[] = []
  let app: ReturnType<typeof createThreadApp> | undefined
  let made: unknown

  function theApp(): ReturnType<typeof createThreadApp> {
    if (app === undefined || made !== fixture.threads) {
      app = createThreadApp({
        client: fixture.threads,
        tokens: TOKENS,
        log: (entry) => logged.push(entry),
        ...options,
      })
      made = fixture.threads
    }
    return app
  }

  async function raw(
    path: string,
    { token = OPERATOR, method, body, headers }: Call = {},
  ): Promise<Response> {
    const isJson =
      typeof body === 'object' && !(body instanceof Uint8Array) && !(body instanceof ReadableStream)
    return theApp().request(path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(isJson && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body: (isJson ? JSON.stringify(body) : body) as NonNullable<RequestInit['body']>,
      }),
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    })
  }

  async function call(path: string, given: Call = {}): Promise<Answer> {
    const response = await raw(path, given)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  return {
    fixture,
    logged,
    raw,
    call,
    get app() {
      return theApp()
    },
    /** Creates a thread of an account; null for a thread without one. */
    async thread(account: string | null = 'acme', id?: string): Promise<string> {
      const { threadId } = await fixture.threads.create({
        agent: 'support',
        ...(account !== null && { account }),
        ...(id !== undefined && { id }),
      })
      return threadId
    },
  }
}

/** Status and code of an error. */
export function codeOf({ status, body }: Answer): readonly [number, string] {
  return [status, body.error.code]
}
