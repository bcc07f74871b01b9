import { describe, expect, test } from 'vitest'

import { lockSpendings, writeSpendings } from '../../src/store/budgets/spending.js'
import { insertRequest } from '../../src/store/calls/requests.js'
import { ACME, serverFixture } from './server-fixture.js'

const { call, fixture, thread } = serverFixture()

const BUDGETS = {
  day: { maxCost: 5 },
  total: { maxSteps: 100, onExceeded: 'ask', approval: { roles: ['boss'] } },
}

describe('budgets of accounts and users', () => {
  test('an operator sets, reads and removes them, and an account does not', async () => {
    const path = '/budgets?account=acme'
    expect(await call(path)).toMatchObject({ status: 200, body: { budgets: null } })
    expect((await call(path, { method: 'PUT', body: { budgets: BUDGETS } })).status).toBe(204)
    expect((await call(path)).body).toEqual({ budgets: BUDGETS })
    for (const asked of [{ method: 'GET' }, { method: 'DELETE' }, { method: 'PUT', body: { budgets: {} } }])
      expect((await call(path, { ...asked, token: ACME })).status).toBe(403)
    for (const _again of [1, 2]) expect((await call(path, { method: 'DELETE' })).status).toBe(204)
    expect((await call(path)).body).toEqual({ budgets: null })
  })

  test.each([
    [{ day: { maxCost: -1 } }, 'expected maxCost to be a number above 0'],
    [{ day: { maxSteps: 1, onExceeded: 'ask' } }, 'day: expected approval.roles'],
    [{ day: {} }, 'day: expected one of maxSteps'],
    [{ week: { maxSteps: 1 } }, 'week'],
    [null, 'budgets'],
  ])('what is wrong is refused, and nothing is stored: %j', async (budgets, said) => {
    const { status, body } = await call('/budgets?account=a', { method: 'PUT', body: { budgets } })
    expect([status, body.error.code]).toEqual([400, 'bad_request'])
    expect(body.error.message).toContain(said)
    expect((await call('/budgets?account=a')).body).toEqual({ budgets: null })
  })
})

describe('budgets of a thread', () => {
  test('it is created with them, and shows what is used', async () => {
    const budgets = { tree: { maxCost: 0.5, tellModel: true }, run: { maxSteps: 3 } }
    const created = await call('/threads', {
      ...{ method: 'POST', token: ACME, body: { agent: 'support', key: 'budgeted', budgets } },
    })
    expect(created.status).toBe(201)
    const { threadId } = created.body
    const other = { agent: 'support', key: 'budgeted', budgets: { run: { maxSteps: 4 } } }
    expect((await call('/threads', { method: 'POST', token: ACME, body: other })).status).toBe(409)
    const wrong = { agent: 'support', budgets: { run: { maxSteps: 0 } } }
    const refused = await call('/threads', { method: 'POST', token: ACME, body: wrong })
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining('budgets: run: expected maxSteps to be a whole number from 1'),
    ])
    await fixture.store.writeLocked(async (tx) => {
      const rows = await lockSpendings(tx, [{ owner: `tree:${threadId}`, period: 'total', threadId }])
      writeSpendings(
        tx,
        rows.map((row) => ({ ...row, spent: { ...row.spent, cost: 250_000 } })),
      )
    })
    expect((await call(`/threads/${threadId}/budget`, { token: ACME })).body).toEqual({
      budgets: [
        { scope: 'tree', period: 'total', limits: { maxCost: 0.5 }, used: { maxCost: 0.25 } },
        { scope: 'run', period: 'total', limits: { maxSteps: 3 }, used: { maxSteps: 0 } },
      ],
    })
  })

  test('a request for more is listed, and a wrong new limit leaves it open', async () => {
    const threadId = await thread('acme', 'asks-for-more')
    const fact = { scope: 'run', period: 'total', limit: 'maxSteps', most: 3, used: 3 }
    const detail = {
      ...fact,
      owner: `run:1:${threadId}`,
      operation: 'model_1_4',
      approval: {},
      requester: null,
    }
    await fixture.store.write((tx) =>
      insertRequest(tx, { thread_id: threadId, id: 'budget_m', kind: 'budget', requested_at: 5, detail }),
    )
    const path = `/threads/${threadId}/requests/budget_m`
    const shown = { id: 'budget_m', kind: 'budget', ...fact, requestedAt: 5 }
    expect((await call(path, { token: ACME })).body).toEqual(shown)
    expect((await call('/requests', { token: ACME })).body.requests).toContainEqual({ ...shown, threadId })
    for (const [body, said] of [
      [{ approved: true, raise: 3 }, 'expected maxSteps above 3, got 3'],
      [{ approved: true, raise: 3.5 }, 'a whole number'],
      [{ approved: false, raise: 9 }, '"approved": true only'],
      [{ approved: true, arguments: {} }, 'no "arguments"'],
      [{ result: { status: 'success' } }, 'Expected an answer { approved }'],
    ] as const) {
      const refused = await call(path, { method: 'POST', token: ACME, body })
      expect([refused.status, refused.body.error.message]).toEqual([
        expect.any(Number),
        expect.stringContaining(said),
      ])
      expect(refused.status).toBeGreaterThanOrEqual(400)
    }
    expect((await call(path, { token: ACME })).status).toBe(200)
  })
})
