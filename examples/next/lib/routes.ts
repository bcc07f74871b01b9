import { createHmac, timingSafeEqual } from 'node:crypto'

import { ThreadClient } from 'everthread/client'

import { chatRoutes } from './chat.ts'

const SECRET = process.env['COOKIE_SECRET'] ?? ''

/** The cookie `user=ann.SIGNATURE`. Replace this by your login: Auth.js, Clerk, a session of yours. */
async function userOf(request: Request): Promise<string | undefined> {
  const [, user = '', signature = ''] =
    /(?:^|; )user=([^.;]+)\.([\w-]+)/.exec(request.headers.get('cookie') ?? '') ?? []
  const expected = Buffer.from(createHmac('sha256', SECRET).update(user).digest('base64url'))
  const given = Buffer.from(signature)
  const isSigned = SECRET.length >= 32 && given.length === expected.length && timingSafeEqual(given, expected)
  return isSigned ? user : undefined
}

export const routes = chatRoutes({ threads: new ThreadClient(), userOf })
