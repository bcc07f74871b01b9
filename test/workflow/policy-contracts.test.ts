import { expect, test } from 'vitest'

import { approvalDesk, approvalDeskOf, models, tools } from '../support/approval-desk.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const OF_CALLS = /^(permission\.|action\.|tool\.(started|result)$)/

threeModes({ registry: approvalDesk, models, tools }, (mode) => {
  const { ran, start, startAndAsk, requestOf } = approvalDeskOf(mode)
  const refund = { name: 'refund', args: { euros: 50 } }

  /** What happened with the first call, in order; decisions with what was decided. */
  async function lifeOf(thread: Awaited<ReturnType<typeof start>>): Promise<readonly string[]> {
    return (await factsOf(thread)).flatMap(({ type, payload }) => {
      if (!OF_CALLS.test(type)) return []
      const said = ['decision', 'resolution', 'outcome'].flatMap(
        (name) => Object.entries(payload).find(([key]) => key === name)?.[1] ?? [],
      )
      return [[type, ...said].join(' ')]
    })
  }

  test.each([
    [
      'allowed',
      { approved: true },
      ['action.resolved approved', 'permission.resolved allowed', 'tool.started', 'tool.result succeeded'],
    ],
    [
      'denied',
      { approved: false },
      ['action.resolved denied', 'permission.resolved denied', 'tool.result denied'],
    ],
    [
      'answered in its place',
      { result: { status: 'success', result: 'x' } },
      ['action.resolved answered', 'permission.resolved denied', 'tool.result succeeded'],
    ],
  ] as const)(
    'AR-EF.1 AR-PS.8 a call that a person has %s: asked, resolved, ended, in this order',
    async (_, answer, ended) => {
      const { thread, request } = await startAndAsk({ calls: [refund] })
      await thread.respond(request.id, answer)
      await thread.waitUntilIdle()
      expect(await lifeOf(thread)).toEqual([
        'permission.evaluated asked',
        'permission.requested',
        'action.required',
        ...ended,
      ])
    },
  )

  test('AR-PS.8 a request that a stop closes is cancelled', async () => {
    const { thread } = await startAndAsk({ calls: [refund] })
    await thread.stop()
    await thread.waitUntilIdle()
    expect((await lifeOf(thread)).slice(3).toSorted()).toEqual([
      ...['action.resolved closed', 'permission.resolved cancelled', 'tool.result interrupted'],
    ])
  })

  test('a denied call has neither a request nor a start', async () => {
    const thread = await start({ calls: [refund], permissions: { 'orders.*': 'deny' } })
    await thread.waitUntilIdle()
    expect(await lifeOf(thread)).toEqual(['permission.evaluated denied', 'tool.result denied'])
  })

  test('PL-CAP.3 one rule is about two tools, whatever their names', async () => {
    const calls = [refund, { name: 'repay' }] as const
    const thread = await start({ calls, permissions: { 'orders.refund': 'deny' } })
    await thread.waitUntilIdle()
    expect(ran).toEqual([])
    expect(await thread.decisions()).toMatchObject([
      { toolName: 'refund', decision: 'denied', rules: ['thread:orders.refund'] },
      { toolName: 'repay', decision: 'denied', rules: ['thread:orders.refund'] },
    ])
  })

  test('AR-PS.4 the record of a decision has what was decided, its source, reason, rules, request, time and scope', async () => {
    const thread = await start({
      calls: [{ name: 'urgent' }],
      permissions: { 'orders.*': 'require_approval' },
    })
    await thread.waitUntilIdle()
    const request = await requestOf(thread)
    const [asked] = await thread.decisions()
    expect(asked).toMatchObject({
      ...{ decision: 'asked', source: 'thread', rules: ['thread:orders.*'], capabilities: ['orders.refund'] },
      ...{ requestId: request.id, expiresAt: request.expiresAt, toolCallId: request.toolCallId },
      ...{ runId: 'run_1', stepId: 'step_1_1', startedAt: null },
    })
    const args = { task: 'x', euros: 2 }
    await thread.respond(request.id, { approved: true, by: 'ben', reason: 'As agreed.', arguments: args })
    await thread.waitUntilIdle()
    const [made] = await thread.decisions()
    expect(made).toMatchObject({
      ...{ decision: 'allowed', source: 'person', by: 'ben', reason: 'As agreed.', changed: true },
      ...{ requestId: request.id, rules: ['thread:orders.*'] },
    })
    expect(JSON.parse(JSON.stringify(made))).toEqual(made)
  })
})
