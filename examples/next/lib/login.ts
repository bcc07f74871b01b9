// The cookie `user`, as `ann.SIGNATURE`. Replace this by your login: Auth.js, Clerk, a session of yours.
import { createHmac, timingSafeEqual } from 'node:crypto'

export const COOKIE = 'user'

function sign(user: string): string {
  const secret = process.env['COOKIE_SECRET'] ?? ''
  if (secret.length < 32)
    throw new Error('Expected COOKIE_SECRET of 32 random characters or more: openssl rand -hex 32')
  return createHmac('sha256', secret).update(user).digest('base64url')
}

/** The value of the cookie of a user who gave the right password; undefined: it is wrong. Yours looks a hash up. */
export function logIn(user: string, password: string): string | undefined {
  return ['ann', 'ben'].includes(user) && password === 'tent' ? `${user}.${sign(user)}` : undefined
}

/** Whom the value of a cookie says, if it is signed. */
export function userOf(cookie = ''): string | undefined {
  const [user = '', signature = ''] = cookie.split('.')
  const [expected, given] = [Buffer.from(sign(user)), Buffer.from(signature)]
  return given.length === expected.length && timingSafeEqual(given, expected) ? user : undefined
}
