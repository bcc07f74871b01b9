import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import type { JsonObject, SourcePending, ToolResult, ToolSource } from '../../src/index.js'
import { isObject } from '../../src/protocol/values.js'
import type { OAuthOptions } from '../../src/mcp/index.js'
import { finishLogin, loginOf, startLogin } from '../../src/mcp/logins/logins.js'
import { callOf, listOf, resumeOf, sourcesOfTests } from './mcp-test-server.js'
import { REDIRECT, serveAuthorization, serveGuarded } from './login-test-server.js'
import { memoryLogins } from './memory-logins.js'

const { source } = sourcesOfTests()
let issuer: Awaited<ReturnType<typeof serveAuthorization>>
let server: Awaited<ReturnType<typeof serveGuarded>>
let logins = memoryLogins()
/** Whose token each call has had, by the person for whom it was made. */
let calls: (readonly [string, string])[] = []

beforeEach(async () => {
  issuer = await serveAuthorization()
  server = await serveGuarded({
    register(mcp) {
      mcp.registerTool(
        'touch',
        { description: 'Touches', inputSchema: z.object({ user: z.string() }) },
        async ({ user }) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
          calls.push([user, server.token()])
          return { content: [{ type: 'text', text: 'Touched' }] }
        },
      )
      mcp.registerTool('whoami', { description: 'Who' }, () => ({ content: [{ type: 'text', text: 'You' }] }))
    },
    issuer: () => issuer.url,
    scopeOf: (token) => issuer.scopeOf(token),
  })
  logins = memoryLogins()
})
afterEach(async () => {
  await issuer.close()
  await server.close()
})

const make = (options: Partial<OAuthOptions> = {}): ToolSource =>
  source({
    ...{ name: 'tracker', url: server.url, tools: ['whoami', 'touch'], prefix: 'tracker_' },
    oauth: { redirectUrl: REDIRECT, allow: ['127.0.0.1'], logins, ...options },
  })

const pendingOf = (answer: unknown): SourcePending => {
  expect(answer).toMatchObject({ status: 'pending' })
  return answer as SourcePending
}

/** Goes on with a call until it waits for a person, or has a result. */
async function goOn(made: ToolSource, first: SourcePending, answer: ToolResult | null, user = 'mia') {
  let next: unknown = await resumeOf(made, 'tracker_whoami', { args: {}, resume: first.resume, answer, user })
  while (isObject(next) && next['status'] === 'pending' && next['after'] !== undefined) {
    const resume = next['resume'] as JsonObject
    next = await resumeOf(made, 'tracker_whoami', { args: {}, resume, answer: null, user })
  }
  return next
}

const bring = (result: JsonObject): ToolResult => ({ status: 'success', result })

async function logIn(made: ToolSource, user = 'mia'): Promise<unknown> {
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user }))
  return goOn(made, asked, bring(await issuer.visit(asked.connect?.url ?? '')), user)
}

const YOU = { status: 'success', content: [{ type: 'text', text: 'You' }] }

test('a call without a login waits with an address, and goes on with the code that comes back', async () => {
  const made = make()
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia' }))
  const address = new URL(asked.connect?.url ?? '')
  expect(asked.connect).toMatchObject({ server: 'tracker', state: expect.stringMatching(/^[\w-]{43}$/) })
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    ...{ code_challenge_method: 'S256', resource: server.url, redirect_uri: REDIRECT },
    state: asked.connect?.state,
  })
  const back = await issuer.visit(address.href)
  expect(await goOn(made, asked, bring(back))).toMatchObject(YOU)
  // What the code needs is nowhere but with the login.
  const [verifier = ''] = issuer.verifiers
  expect(verifier).toHaveLength(43)
  expect(JSON.stringify(asked)).not.toContain(verifier)
  expect(await callOf(made, 'tracker_whoami', { user: 'mia' })).toMatchObject(YOU)
  expect(issuer.asked).toEqual(['authorization_code'])
})

test('a login is for one person, and another one is asked', async () => {
  const made = make()
  await logIn(made)
  expect(await listOf(made, { user: 'mia' })).toMatchObject([
    { name: 'tracker_touch' },
    { name: 'tracker_whoami' },
  ])
  expect(await listOf(made, { user: 'tom' })).toMatchObject([
    { name: 'tracker_connect_tracker', changesList: true },
  ])
  pendingOf(await callOf(made, 'tracker_whoami', { user: 'tom' }))
  pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia', account: 'acme' }))
})

test('calls of several people at once, over one source, have each the tokens of their own', async () => {
  const made = make()
  const people = ['mia', 'tom', 'zoe']
  for (const user of people) await logIn(made, user)
  const tokens = new Map(
    [...logins.kept].map(([key, { text }]) => {
      const { tokens: kept } = JSON.parse(text) as { readonly tokens: { readonly access: string } }
      return [(JSON.parse(key) as readonly string[])[1] ?? '', kept.access]
    }),
  )
  calls = []
  const touch = (user: string) => callOf(made, 'tracker_touch', { user, args: { user } })
  await Promise.all(Array.from({ length: 60 }, (_, index) => touch(people[index % 3] ?? '')))
  expect(calls).toHaveLength(60)
  expect(calls.filter(([user, token]) => token !== tokens.get(user))).toEqual([])
})

test('another state and a person who declines are error results, and nothing is exchanged', async () => {
  const made = make()
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia' }))
  const back = await issuer.visit(asked.connect?.url ?? '', false)
  expect(back).toMatchObject({ error: 'access_denied' })
  const refused = { code: 'mcp_login_refused', category: 'permission' }
  await expect(goOn(made, asked, bring(back))).rejects.toMatchObject(refused)
  const other = await issuer.visit(asked.connect?.url ?? '')
  await expect(goOn(made, asked, bring({ ...other, state: 'another' }))).rejects.toMatchObject(refused)
  await expect(goOn(made, asked, { status: 'error', error: 'No.' })).rejects.toMatchObject(refused)
  await expect(goOn(made, asked, bring({ ...other, iss: 'https://evil.example' }))).rejects.toMatchObject({
    code: 'mcp_login_failed',
  })
  expect(issuer.asked).toEqual([])
})

test('a token endpoint that fails once is asked again, with the same code', async () => {
  issuer.failures.push(500)
  expect(await logIn(make())).toMatchObject(YOU)
  expect(issuer.asked).toEqual(['authorization_code', 'authorization_code'])
})

test('a code that was spent asks the person again, with a new address', async () => {
  const made = make()
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia' }))
  const back = await issuer.visit(asked.connect?.url ?? '')
  const again = pendingOf(await goOn(made, asked, bring({ ...back, code: 'spent' })))
  expect(again.connect?.state).not.toBe(asked.connect?.state)
  expect(await goOn(made, again, bring(await issuer.visit(again.connect?.url ?? '')))).toMatchObject(YOU)
  // The client that has registered itself is used again.
  expect(issuer.registered).toBe(1)
})

test('a part that exchanged its code and was repeated uses the tokens that it has kept', async () => {
  const made = make()
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia' }))
  const answer = bring(await issuer.visit(asked.connect?.url ?? ''))
  const given = { args: {}, resume: asked.resume, answer, user: 'mia' }
  const first = await resumeOf(made, 'tracker_whoami', given)
  expect(await resumeOf(make(), 'tracker_whoami', given)).toEqual(first)
  expect(first).toMatchObject({ after: 0, repeatable: false })
  expect(issuer.asked).toEqual(['authorization_code'])
})

test('of logins that have begun the newest 16 are kept, and one that is forgotten has to begin again', async () => {
  const oauth = { redirectUrl: REDIRECT, allow: ['127.0.0.1'], logins }
  const tracker = { name: 'tracker', url: server.url, tools: 'all', oauth } as const
  const { signal } = new AbortController()
  const kept = loginOf(tracker, { threadId: 't', agent: 'a', account: null, user: 'mia' })
  const states: string[] = []
  for (let begun = 1; begun <= 17; begun += 1) {
    const { state } = await startLogin(tracker, kept, { challenge: {}, signal })
    states.push(state)
  }
  expect(new Set(states).size).toBe(17)
  const { begun = {} } = JSON.parse((await kept.read())?.text ?? '{}') as { readonly begun?: object }
  expect(Object.keys(begun).toSorted()).toEqual(states.slice(1).toSorted())
  const [forgotten = ''] = states
  expect(await finishLogin(tracker, kept, { state: forgotten, code: 'code', iss: undefined, signal })).toBe(
    false,
  )
  expect(issuer.asked).toEqual([])
})

test('tokens are renewed before they are over, and when they are refused', async () => {
  issuer.expiresIn = 0
  const made = make()
  await logIn(made)
  issuer.expiresIn = 3_600
  expect(await callOf(made, 'tracker_whoami', { user: 'mia' })).toMatchObject(YOU)
  const before = issuer.asked.length
  issuer.revoke()
  expect(await callOf(made, 'tracker_whoami', { user: 'mia' })).toMatchObject(YOU)
  expect(issuer.asked.slice(before)).toEqual(['refresh_token'])
})

test('ten workers that renew at once ask once, and lose nothing', async () => {
  await logIn(make())
  issuer.revoke()
  issuer.behind = () => new Promise((resolve) => setTimeout(resolve, 300))
  const workers = Array.from({ length: 10 }, () => make())
  const answers = await Promise.all(workers.map((made) => callOf(made, 'tracker_whoami', { user: 'mia' })))
  for (const answer of answers) expect(answer).toMatchObject(YOU)
  expect(issuer.asked).toEqual(['authorization_code', 'refresh_token'])
})

test('a login that was revoked asks the person again, also where a connection is open', async () => {
  const made = make()
  await logIn(made)
  issuer.revoke(true)
  const asked = pendingOf(await callOf(made, 'tracker_whoami', { user: 'mia' }))
  expect(await goOn(made, asked, bring(await issuer.visit(asked.connect?.url ?? '')))).toMatchObject(YOU)
})
