import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { ConfigError } from '../../protocol/errors.js'
import { ProblemError } from '../error-response.js'
import type { ServerEnv } from '../server-context.js'
import { authenticateCallers } from './tokens.js'
import type { Authentication } from './tokens.js'

const SECRET = 'token-of-account-a'

/** The caller that the routes behind the guard see, or the error that the guard throws instead. */
async function callerOf(authentication: Authentication, authorization?: string): Promise<unknown> {
  let thrown: unknown
  const app = new Hono<ServerEnv>()
  app.use(authenticateCallers(authentication))
  app.get('/', (context) => context.json(context.get('caller')))
  app.onError((error, context) => {
    thrown = error
    return context.body(null, 500)
  })
  const headers = authorization === undefined ? {} : { authorization }
  const response = await app.request('/', { headers })
  return thrown ?? (await response.json())
}

test('a token has the threads of its account, and one without an account those of all', async () => {
  const tokens = [{ token: SECRET, account: 'a' }, { token: 'token-of-the-operator' }]
  expect(await callerOf({ tokens }, `Bearer ${SECRET}`)).toMatchObject({ account: 'a' })
  expect(await callerOf({ tokens }, 'Bearer token-of-the-operator')).toMatchObject({ account: null })
})

test('the key of a rate never shows the token', async () => {
  const caller = await callerOf({ tokens: [{ token: SECRET }] }, `Bearer ${SECRET}`)
  expect(JSON.stringify(caller)).not.toContain(SECRET)
})

test.each([undefined, 'Bearer another-token-of-16', SECRET, `Basic ${SECRET}`])(
  'the header %s is refused with 401',
  async (header) => {
    expect(await callerOf({ tokens: [{ token: SECRET }] }, header)).toMatchObject({ status: 401 })
  },
)

test('a rule that answers null refuses with 401', async () => {
  expect(await callerOf({ authenticate: async () => null })).toMatchObject({ status: 401 })
})

test.each<[what: string, status: number, method: string, headers: Record<string, string>]>([
  ['a page of another site', 403, 'POST', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['a page of a neighbour', 403, 'DELETE', { 'sec-fetch-site': 'same-site', origin: 'https://a.example' }],
  ['its own page', 200, 'POST', { 'sec-fetch-site': 'same-origin', origin: 'https://b.example' }],
  ['a page that may call', 200, 'POST', { 'sec-fetch-site': 'cross-site', origin: 'https://shop.example' }],
  ['a page with a token', 200, 'POST', { 'sec-fetch-site': 'cross-site', authorization: 'Bearer x' }],
  ['a link elsewhere', 200, 'GET', { 'sec-fetch-site': 'cross-site' }],
  ['a program', 200, 'POST', {}],
])('with a cookie, %s gets %i', async (_what, status, method, headers) => {
  const app = new Hono<ServerEnv>()
  const authenticate = async () => ({ account: 'a' })
  app.use(authenticateCallers({ authenticate, origins: ['https://shop.example'] }))
  app.all('/', (context) => context.text('done'))
  app.onError((error, { body }) => body(null, error instanceof ProblemError ? error.status : 500))
  expect((await app.request('/', { method, headers })).status).toBe(status)
})

test.each([{}, { account: '' }, { account: undefined }, { account: 7 }])(
  'a rule that answers %j makes nobody an operator',
  async (answer) => {
    const authenticate = async () => answer as { readonly account: string | null }
    const refusal = await callerOf({ authenticate })
    expect(refusal).toBeInstanceOf(Error)
    expect(String(refusal)).toContain('Expected "authenticate" to answer null or { account }')
  },
)

test('exactly one of tokens and a rule is given, and no list of tokens is empty', () => {
  const authenticate = async () => null
  for (const options of [{}, { tokens: [{ token: SECRET }], authenticate }, { tokens: [] }])
    expect(() => authenticateCallers(options)).toThrow(ConfigError)
})

test('an empty account is refused: it would be one that those who forget theirs share', () => {
  expect(() => authenticateCallers({ tokens: [{ token: SECRET, account: '' }] })).toThrow(
    /tokens\[0\]\.account/,
  )
})
