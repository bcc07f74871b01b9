// A back end for a page without a framework (index.html): each visitor has one thread, and gets short-lived tokens for it alone.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import type { ThreadClient } from 'everthread/client'
import { createHttpClient } from 'everthread/http'
import { createThreadApp } from 'everthread/server'
import { Hono } from 'hono'
import { getSignedCookie, setSignedCookie } from 'hono/cookie'

interface PageAppOptions {
  readonly threads: ThreadClient
  readonly agent: string
  /** Signs cookies and tokens: 32 random characters or more. */
  readonly secret: string
  /** How long a token holds. @default 600 */
  readonly tokenSeconds?: number
}

const COOKIE = { httpOnly: true, secure: true, sameSite: 'Strict', path: '/', maxAge: 86_400 } as const

export function createPageApp({ threads, agent, secret, tokenSeconds = 600 }: PageAppOptions) {
  // Only this process has the token of the whole API, and calls it without a network.
  const token = randomBytes(32).toString('hex')
  const api = createThreadApp({
    ...{ client: threads, page: false, threadTokens: { keys: [secret] } },
    tokens: [{ token, account: 'visitors' }],
  })
  const service = createHttpClient({
    ...{ url: 'http://service', token },
    fetch: async (request) => api.fetch(request),
  })
  const app = new Hono()

  app.get('/', async ({ html }) => html(await readFile(new URL('index.html', import.meta.url), 'utf8')))
  // The thread is that of the cookie, so nobody can name another one's.
  app.post('/visit', async (context) => {
    const known = await getSignedCookie(context, secret, 'visitor')
    const visitor = typeof known === 'string' ? known : randomUUID()
    await setSignedCookie(context, 'visitor', visitor, secret, COOKIE)
    const { threadId } = await service.threads.create({ agent, key: visitor })
    const signed = await service.fetch(`/threads/${encodeURIComponent(threadId)}/tokens`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ access: 'write', user: visitor, seconds: tokenSeconds }),
    })
    return context.json({ threadId, ...((await signed.json()) as { readonly token: string }) })
  })
  // What a page may do here is what its token opens.
  app.all('/threads/*', ({ req }) => api.fetch(req.raw))
  return app
}
