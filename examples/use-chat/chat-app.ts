// A back end with a login by cookie, for the page that uses `useChat` (page.tsx). Each chat is a thread of one user.
import { ThreadNotFoundError } from 'everthread'
import { toUIMessageStreamResponse } from 'everthread/client'
import type { ThreadClient } from 'everthread/client'
import { Hono } from 'hono'
import { getSignedCookie, setSignedCookie } from 'hono/cookie'
import { csrf } from 'hono/csrf'

interface ChatAppOptions {
  readonly threads: ThreadClient
  readonly agent: string
  /** Signs the cookie: 32 random characters or more. */
  readonly secret: string
  readonly isPassword: (user: string, password: string) => boolean
}

const SECURE = { httpOnly: true, secure: true, sameSite: 'Lax', path: '/', maxAge: 86_400 } as const

export function createChatApp({ threads, agent, secret, isPassword }: ChatAppOptions) {
  const app = new Hono<{ Variables: { user: string } }>().use(csrf())

  app.post('/login', async (context) => {
    const { user, password } = await context.req.parseBody()
    if (typeof user !== 'string' || typeof password !== 'string' || !isPassword(user, password))
      return context.text('The name or the password is wrong.', 401)
    await setSignedCookie(context, 'user', user, secret, SECURE)
    return context.redirect('/')
  })

  app.use('/chats/*', async (context, next) => {
    const user = await getSignedCookie(context, secret, 'user')
    if (typeof user !== 'string') return context.text('Log in first.', 401)
    context.set('user', user)
    return next()
  })
  app.post('/chats', async ({ get, json }) => {
    const thread = await threads.create({ agent, userId: get('user') })
    return json({ id: thread.threadId }, 201)
  })

  // Another one's chat looks like one that is not there.
  app.use('/chats/:id/*', async ({ get, req, text }, next) => {
    const chat = await threads.sessions.get(req.param('id')).catch((error: unknown) => {
      if (ThreadNotFoundError.isInstance(error)) return undefined
      throw error
    })
    return chat?.userId === get('user') ? next() : text('There is no such chat.', 404)
  })
  app.get('/chats/:id/messages', async ({ req, json }) =>
    json(await threads.get(req.param('id')).uiMessages()),
  )
  app.post('/chats/:id/messages', async ({ req }) =>
    toUIMessageStreamResponse(threads.get(req.param('id')), await req.json(), { signal: req.raw.signal }),
  )
  app.get('/chats/:id/stream', ({ req }) =>
    toUIMessageStreamResponse(threads.get(req.param('id')), null, {
      signal: req.raw.signal,
      after: req.query('after') ?? '0',
    }),
  )
  app.post('/chats/:id/stop', async ({ req, json }) => json(await threads.get(req.param('id')).stop()))
  return app
}
