import { expect, test } from 'vitest'

import { calls, done } from '../support/kinds-replies.js'
import { policyDesk } from '../support/policy-desk.js'
import { models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import { threeModes } from '../support/three-modes.js'

const RULES = { 'orders.refund': 'require_approval', 'texts.*': 'deny' } as const

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { start, everyVoice, requestOf, count } = policyDeskOf(mode)

  test('AR-SN.9 the summary has the rules, the mode, the call that waits, and later the approval that is remembered', async () => {
    const { thread } = await start({
      voices: everyVoice(calls(refund), calls(refund), done),
      given: { permissions: RULES, permissionMode: 'on_request' },
      runPermissions: { 'people.*': 'deny' },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const asked = await requestOf(thread)
    const summary = await thread.permissions()
    expect(summary).toEqual({
      ...{ threadId: thread.threadId, agent: 'seller', recordedAt: expect.any(Number), hasPolicy: false },
      ...{ modes: { thread: 'on_request' }, interactive: true, grants: [], sandbox: 'unavailable' },
      rules: [
        { source: 'thread', effects: RULES },
        { source: 'run', effects: { 'people.*': 'deny' } },
      ],
      pending: [asked],
    })
    await thread.respond(asked.id, { approved: true, remember: { for: 'thread' } })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
    expect(count.refunds).toBe(2)
    const { grants, pending, rules } = await thread.permissions()
    expect(grants).toMatchObject([{ for: 'thread', toolName: 'refund', capabilities: ['orders.refund'] }])
    expect(pending).toEqual([])
    // The rules of a run end with it.
    expect(rules).toEqual([{ source: 'thread', effects: RULES }])
  })
})
