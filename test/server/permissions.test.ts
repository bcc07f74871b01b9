import { describe, expect, test } from 'vitest'

import { findThreadForCall } from '../../src/store/threads/threads.js'
import { ACME, serverFixture } from './server-fixture.js'

const { call, fixture, thread } = serverFixture()

const RULES = { 'orders.*': 'deny', 'texts.draft': true, 'fs.read': { paths: ['/a'] } }

describe('rules of accounts and users', () => {
  test.each(['?account=globex', '?account=globex&userId=ann', '?userId=ann%2Fben'])(
    'an operator sets, reads and removes those of %s',
    async (query) => {
      const path = `/permissions${query}`
      expect(await call(path)).toMatchObject({ status: 200, body: { permissions: null } })
      for (const permissions of [{ '*': 'deny' }, RULES]) {
        expect((await call(path, { method: 'PUT', body: { permissions } })).status).toBe(204)
        expect((await call(path)).body).toEqual({ permissions })
      }
      expect((await call('/permissions?account=another')).body).toEqual({ permissions: null })
      for (const _again of [1, 2]) expect((await call(path, { method: 'DELETE' })).status).toBe(204)
      expect((await call(path)).body).toEqual({ permissions: null })
    },
  )

  test('an account neither reads nor changes any, not even its own', async () => {
    const path = '/permissions?account=acme'
    await call(path, { method: 'PUT', body: { permissions: RULES } })
    for (const asked of [
      { method: 'GET' },
      { method: 'DELETE' },
      { method: 'PUT', body: { permissions: {} } },
    ]) {
      const { status, body } = await call(path, { ...asked, token: ACME })
      expect([status, body.error.code]).toEqual([403, 'forbidden'])
    }
    expect((await call(path)).body).toEqual({ permissions: RULES })
  })

  test.each([
    ['', RULES, 'Expected "account", "userId" or both, got neither.'],
    ['?account=', RULES, 'account'],
    ['?account=a&tenant=b', RULES, 'tenant'],
    ['?account=a', { 'orders.*': 'ask' }, 'permissions'],
    ['?account=a', { 'a*': 'deny' }, 'expected a capability, "namespace.*" or "*" as the key of a rule'],
    ['?account=a', null, 'permissions'],
  ])(
    'what is wrong is refused, and nothing is stored: /permissions%s %j',
    async (query, permissions, said) => {
      const { status, body } = await call(`/permissions${query}`, { method: 'PUT', body: { permissions } })
      expect([status, body.error.code]).toEqual([400, 'bad_request'])
      expect(body.error.message).toContain(said)
      expect((await call('/permissions?account=a')).body).toEqual({ permissions: null })
    },
  )
})

describe('rules of a run', () => {
  test('a message brings them, once', async () => {
    const threadId = await thread('acme', 'ruled-run')
    const path = `/threads/${threadId}/messages`
    const message = { key: 'first', content: 'Only look.', runPermissions: RULES }
    const sent = await call(path, { token: ACME, body: message })
    expect(sent.status).toBe(202)
    expect((await call(path, { token: ACME, body: message })).body).toEqual(sent.body)
    const { status, body } = await call(path, { token: ACME, body: { ...message, runPermissions: {} } })
    expect([status, body.error.code]).toEqual([409, 'thread_conflict'])
    const row = await fixture.store.read((db) =>
      db
        .selectFrom('messages')
        .select('run_permissions')
        .where('id', '=', sent.body.messageId)
        .executeTakeFirst(),
    )
    expect(JSON.parse(row?.run_permissions ?? '')).toEqual(RULES)
    const found = await fixture.store.read((db) => findThreadForCall(db, { threadId, run: 1 }))
    expect(found?.permissions.rules).toEqual([])
  })

  test.each([
    [{ 'orders.*': 'ask' }, 'runPermissions'],
    [{ 'a*': 'deny' }, 'runPermissions: expected a capability, "namespace.*" or "*" as the key of a rule'],
    [null, 'runPermissions'],
  ])('wrong ones are refused, and no message is stored: %j', async (runPermissions, said) => {
    const threadId = await thread('acme', 'wrongly-ruled-run')
    const path = `/threads/${threadId}/messages`
    const { status, body } = await call(path, { body: { content: 'x', runPermissions } })
    expect([status, body.error.message.includes(said)]).toEqual([400, true])
    expect((await call(path)).body.messages).toEqual([])
  })
})
