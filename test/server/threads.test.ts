import { describe, expect, test } from 'vitest'
import { findThread, insertThread } from '../../src/store/threads/threads.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

describe('POST /threads', () => {
  test("makes a thread of the token's account and sends its first message", async () => {
    const body = { agent: 'support', message: 'My tent leaks.', userId: 'ann', tags: ['tent'], title: 'Tent' }
    const made = await call('/threads', { token: ACME, body })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      agent: 'support',
      status: 'idle',
      account: 'acme',
      userId: 'ann',
      tags: ['tent'],
      title: 'Tent',
      parent: null,
      root: made.body.threadId,
      closedAt: null,
    })
    const { messages } = await fixture.threads.get(made.body.threadId).messages()
    expect(messages.map(({ content }) => content)).toEqual(['My tent leaks.'])
  })

  test('takes rules, a mode and that nobody can be asked, and no mode that asks nobody', async () => {
    const permissions = { 'orders.*': 'deny', 'texts.draft': true, 'fs.read': { paths: ['/a'] } }
    const body = { agent: 'support', key: 'ruled', permissions, permissionMode: 'plan', interactive: false }
    const made = await call('/threads', { token: ACME, body })
    expect(made.status).toBe(201)
    const row = await fixture.store.read((db) => findThread(db, made.body.threadId))
    expect(row?.permissions).toEqual({ permissions, mode: 'plan', interactive: false })
    const other = { ...body, permissions: { 'orders.*': 'allow' } }
    expect(codeOf(await call('/threads', { token: ACME, body: other }))).toEqual([409, 'thread_conflict'])
    for (const permissionMode of ['bypass', 'auto'])
      expect(
        (await call('/threads', { token: ACME, body: { agent: 'support', permissionMode } })).status,
      ).toBe(400)
    const wrong = { agent: 'support', permissions: { 'orders.*': 'ask' } }
    expect((await call('/threads', { token: ACME, body: wrong })).status).toBe(400)
    expect(await call(`/threads/${made.body.threadId}/decisions`, { token: ACME })).toMatchObject({
      ...{ status: 200, body: { decisions: [] } },
    })
    expect((await call(`/threads/${made.body.threadId}/decisions`, { token: GLOBEX })).status).toBe(404)
  })

  test('under the same key makes one thread and sends its message once', async () => {
    const body = { agent: 'support', key: 'ticket-17', message: { content: 'Hello' } }
    const first = await call('/threads', { token: ACME, body })
    const again = await call('/threads', { token: ACME, body })
    expect(again.body.threadId).toBe(first.body.threadId)
    expect((await fixture.threads.get(first.body.threadId).messages()).messages).toHaveLength(1)
  })

  test('under a key that another account has used makes another thread', async () => {
    const body = { agent: 'support', key: 'ticket-17' }
    const theirs = await call('/threads', { token: ACME, body })
    const own = await call('/threads', { token: GLOBEX, body })
    expect([theirs.status, own.status]).toEqual([201, 201])
    expect(own.body.threadId).not.toBe(theirs.body.threadId)
    expect(own.body.account).toBe('globex')
  })

  test('takes an id and an account from an operator alone', async () => {
    const made = await call('/threads', { body: { agent: 'support', id: 'own-id', account: 'acme' } })
    expect(made.body).toMatchObject({ threadId: 'own-id', account: 'acme' })
    // An account gets the same answer for a taken id and a free one.
    for (const id of ['own-id', 'free-id'])
      expect(codeOf(await call('/threads', { token: GLOBEX, body: { agent: 'support', id } }))).toEqual([
        403,
        'forbidden',
      ])
    expect(
      codeOf(await call('/threads', { token: GLOBEX, body: { agent: 'support', account: 'acme' } })),
    ).toEqual([403, 'forbidden'])
    expect(
      (await call('/threads', { token: ACME, body: { agent: 'support', account: 'acme' } })).status,
    ).toBe(201)
  })

  test('E4 a conflict names the key that the caller gave', async () => {
    const body = { agent: 'support', key: 'ticket-18', message: { content: 'Hello' } }
    const made = await call('/threads', { token: ACME, body })
    const another = await call('/threads', { token: ACME, body: { ...body, message: { content: 'Bye' } } })
    expect([another.status, another.body.error.message]).toEqual([
      409,
      'Expected key "ticket-18" to be new or to come with the same first message, got another message: use another key, ' +
        'or send the message to the thread that is there.',
    ])
    const path = `/threads/${made.body.threadId}/messages`
    await call(path, { token: ACME, body: { content: 'One', key: 'mail-1' } })
    const sent = await call(path, { token: ACME, body: { content: 'Two', key: 'mail-1' } })
    expect(sent.body.error.message).toBe(
      'Expected key "mail-1" to be new or to come with the same command, got another one or other content: use another key.',
    )
  })

  test('with a known id and another agent is a conflict', async () => {
    await call('/threads', { body: { agent: 'support', id: 'taken' } })
    expect(codeOf(await call('/threads', { body: { agent: 'other', id: 'taken' } }))).toEqual([
      409,
      'thread_conflict',
    ])
  })

  test.each([
    ['no agent', {}],
    ['an empty agent', { agent: '' }],
    ['an unknown field', { agent: 'support', admin: true }],
    ['id and key', { agent: 'support', id: 'a', key: 'b' }],
    ['an id of ours', { agent: 'support', id: 'everthread:x' }],
    ['an empty message', { agent: 'support', message: {} }],
    ['a long title', { agent: 'support', title: 'x'.repeat(501) }],
  ])('with %s is 400', async (_what, body) => {
    expect((await call('/threads', { body })).status).toBe(400)
  })
})

describe('GET /threads', () => {
  test('lists the threads of the account, page by page, newest activity first', async () => {
    for (const id of ['a', 'b', 'c']) await server.thread('acme', id)
    await server.thread('globex', 'theirs')
    const first = await call('/threads?limit=2', { token: ACME })
    const last = await call(`/threads?limit=2&cursor=${first.body.next}`, { token: ACME })
    const ids = [...first.body.threads, ...last.body.threads].map(
      ({ threadId }: { threadId: string }) => threadId,
    )
    expect([ids, last.body.next]).toEqual([['c', 'b', 'a'], null])
  })

  test('lists all threads for an operator, or those of one account', async () => {
    await server.thread('acme', 'a')
    await server.thread('globex', 'b')
    await server.thread(null, 'c')
    expect((await call('/threads', { token: OPERATOR })).body.threads).toHaveLength(3)
    expect((await call('/threads?account=globex', { token: OPERATOR })).body.threads).toMatchObject([
      { threadId: 'b' },
    ])
  })

  test('never lists another account, whatever the filter', async () => {
    await server.thread('acme', 'a')
    for (const filter of ['account=acme', 'root=a', 'parent=none', 'agent=support'])
      expect((await call(`/threads?${filter}`, { token: GLOBEX })).body.threads).toEqual([])
  })

  test.each(['cursor=x', 'limit=0', 'limit=501', 'limit=x'])('with %s is 400', async (query) => {
    expect((await call(`/threads?${query}`)).status).toBe(400)
  })
})

describe('one thread', () => {
  test('is read by its id, or is 404', async () => {
    const threadId = await server.thread()
    expect((await call(`/threads/${threadId}`)).body).toMatchObject({ threadId, account: 'acme' })
    expect(codeOf(await call('/threads/nobody'))).toEqual([404, 'thread_not_found'])
  })

  test('with signs of its own in its id is found', async () => {
    const threadId = await server.thread('acme', 'tickets/a b#17?ü%')
    expect((await call(`/threads/${encodeURIComponent(threadId)}`)).body).toMatchObject({ threadId })
  })

  test('has a snapshot and a tree', async () => {
    const threadId = await server.thread()
    expect((await call(`/threads/${threadId}/snapshot`)).body).toMatchObject({
      threadId,
      stale: true,
      queue: [],
      pending: [],
    })
    expect((await call(`/threads/${threadId}/tree`)).body).toMatchObject({
      threadId,
      entry: null,
      children: [],
    })
  })

  test('is stopped, continued and terminated, as often as one likes', async () => {
    const threadId = await server.thread()
    // No run is open, and nothing waits.
    for (const body of [{ runId: 'run_1', children: false }, {}, undefined]) {
      const stopped = await call(`/threads/${threadId}/stop`, { method: 'POST', body })
      expect([stopped.status, stopped.body]).toEqual([200, { status: 'no_op' }])
    }
    for (const [path, body] of [
      ['continue', undefined],
      ['terminate', { reason: 'Done' }],
      ['terminate', {}],
    ] as const)
      expect((await call(`/threads/${threadId}/${path}`, { method: 'POST', body })).status).toBe(202)
    expect(codeOf(await call(`/threads/${threadId}/continue`, { method: 'POST' }))).toEqual([
      409,
      'thread_terminated',
    ])
    expect((await call(`/threads/${threadId}`)).status).toBe(200)
  })
})

describe('DELETE /threads/{threadId}', () => {
  test('deletes a closed thread for good, and refuses one that is open', async () => {
    const threadId = await server.thread()
    expect(codeOf(await call(`/threads/${threadId}`, { method: 'DELETE' }))).toEqual([409, 'thread_conflict'])
    await fixture.store.write((tx) =>
      insertThread(tx, { id: 'closed', agent: 'support', created_at: 1, status: 'completed', closed_at: 2 }),
    )
    const deleted = await call('/threads/closed', { method: 'DELETE' })
    expect([deleted.status, deleted.body.threads]).toEqual([200, 1])
    expect(codeOf(await call('/threads/closed', { method: 'DELETE' }))).toEqual([404, 'thread_not_found'])
  })
})

describe('messages', () => {
  test('are accepted, once under a key, and read back', async () => {
    const threadId = await server.thread()
    const path = `/threads/${threadId}/messages`
    const body = { content: 'Hello', key: 'first', metadata: { from: 'web' } }
    const sent = await call(path, { body })
    expect(sent.status).toBe(202)
    expect((await call(path, { body })).body).toEqual(sent.body)
    expect(codeOf(await call(path, { body: { ...body, content: 'Other' } }))).toEqual([
      409,
      'thread_conflict',
    ])
    const { messages, hasMore } = (await call(path)).body
    expect(messages).toMatchObject([
      { id: sent.body.messageId, content: 'Hello', metadata: { from: 'web' }, position: null },
    ])
    expect(hasMore).toBe(false)
  })

  test('carry files, new ones and those of the thread', async () => {
    const threadId = await server.thread()
    await fixture.threads.get(threadId).writeFile('/plan.md', 'x', 'text/markdown')
    const attachments = ['/plan.md', { name: 'a.txt', mimeType: 'text/plain', data: 'aGVsbG8=' }]
    expect((await call(`/threads/${threadId}/messages`, { body: { attachments } })).status).toBe(202)
    const [message] = (await call(`/threads/${threadId}/messages`)).body.messages
    expect(message.attachments).toMatchObject([{ path: '/plan.md' }, { name: 'a.txt', size: 5 }])
  })

  test.each([
    ['nothing', {}],
    ['an unknown field', { content: 'x', id: 'own' }],
    ['a file that is not there', { attachments: ['/none'] }],
    ['bytes that are no base64', { attachments: [{ name: 'a', mimeType: 'text/plain', data: '%%' }] }],
  ])('with %s are 400', async (_what, body) => {
    const threadId = await server.thread()
    expect((await call(`/threads/${threadId}/messages`, { body })).status).toBe(400)
  })

  test('that wait are taken back, once', async () => {
    const threadId = await server.thread()
    const path = `/threads/${threadId}`
    const { messageId } = (await call(`${path}/messages`, { body: { content: 'x' } })).body
    const take = () => call(`${path}/queue/${messageId}`, { method: 'DELETE' })
    // The row is changed at once; without a worker the item stays in the workflow's queue.
    expect(codeOf(await take())).toEqual([503, 'no_worker'])
    expect((await call(`${path}/messages`)).body.messages).toEqual([])
    expect(codeOf(await call(`${path}/queue/none`, { method: 'DELETE' }))).toEqual([404, 'not_queued'])
  })

  test('are read by their id, with what became of them, and those of another account are not', async () => {
    const { body } = await call('/threads', { token: ACME, body: { agent: 'support' } })
    const path = `/threads/${body.threadId}/messages`
    const sent = await call(path, { token: ACME, body: { content: 'Not this' } })
    const read = `${path}/${sent.body.messageId}`
    expect(await call(read, { token: ACME })).toMatchObject({
      ...{ status: 200, body: { message: { content: 'Not this', status: 'pending' }, end: null } },
    })
    // The row is changed at once, also while no worker takes the removal.
    const removal = `/threads/${body.threadId}/queue/${sent.body.messageId}`
    expect(codeOf(await call(removal, { token: ACME, method: 'DELETE' }))).toEqual([503, 'no_worker'])
    expect((await call(read, { token: ACME })).body.end).toEqual({ kind: 'removed' })
    expect(codeOf(await call(`${path}/nothing`, { token: ACME }))).toEqual([404, 'not_found'])
    expect(codeOf(await call(read, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
  })

  test('to a terminated thread are refused', async () => {
    const threadId = await server.thread()
    await fixture.threads.get(threadId).terminate()
    expect(codeOf(await call(`/threads/${threadId}/messages`, { body: { content: 'x' } }))).toEqual([
      409,
      'thread_terminated',
    ])
  })
})

describe('a search', () => {
  test('finds a text in title, id, agent and user, whatever its case, and counts by status', async () => {
    const token = GLOBEX
    const create = (key: string, rest: object): Promise<unknown> =>
      call('/threads', { token, body: { agent: 'support', key, tags: ['search'], ...rest } })
    await create('one', { title: 'A Tent of 100%' })
    await create('two', { title: 'A tent of 100 euros', userId: 'Ann_1' })
    const found = async (search: string): Promise<readonly string[]> => {
      const query = `tag=search&search=${encodeURIComponent(search)}`
      const { body } = await call(`/threads?${query}`, { token })
      const counted = await call(`/thread-counts?${query}`, { token })
      expect(counted.body).toEqual({
        counts: body.threads.length === 0 ? {} : { idle: body.threads.length },
        more: false,
      })
      return body.threads.map(({ title }: { title: string }) => title).toSorted()
    }
    expect(await found('TENT')).toHaveLength(2)
    // Signs that databases take for patterns are the person's own.
    expect(await found('100%')).toEqual(['A Tent of 100%'])
    expect(await found('ann_')).toEqual(['A tent of 100 euros'])
    expect(await found('ann%')).toEqual([])
    expect(await found('\\')).toEqual([])
    // Of another account nothing is found or counted.
    expect((await call('/thread-counts?tag=search', { token: ACME })).body.counts).toEqual({})
  })

  test('counts threads of all accounts for an operator, by status and filter', async () => {
    for (const token of [ACME, GLOBEX]) await call('/threads', { token, body: { agent: 'support' } })
    const { body } = await call('/thread-counts?parent=none&agent=support', { token: OPERATOR })
    expect(body.counts.idle).toBeGreaterThan(1)
    expect((await call('/thread-counts?agent=nobody', { token: OPERATOR })).body).toEqual({
      counts: {},
      more: false,
    })
  })
})
