import { beforeEach, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { ThreadEventOf } from '../../src/protocol/events.js'
import { calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { deskHooks, policyDesk } from '../support/policy-desk.js'
import { models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

beforeEach(() => {
  deskHooks.guard = () => null
  deskHooks.standIn = () => null
})

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { start, requestOf } = policyDeskOf(mode)
  const threads = () => mode.env.threads

  async function changesOf(thread: ThreadHandle) {
    const facts = await factsOf(thread)
    return facts.flatMap((one): readonly ThreadEventOf<'policy.changed'>[] =>
      one.type === 'policy.changed' ? [one] : [],
    )
  }

  test('AR-EF.3 AR-HP.7 hooks that begin, answer and fail, and changes of the policy, are in the log', async () => {
    deskHooks.guard = (_state, { name }) => {
      if (name === 'look') throw new Error('The rules are gone.')
      return { effect: 'require_approval', arguments: { task: marked('Checked') } }
    }
    const { thread } = await start({
      agent: 'watched',
      voices: { seller: [calls(refund, order('look')), done, done] },
      runPermissions: { 'texts.*': 'deny' },
    })
    await thread.waitUntilIdle()
    const request = await requestOf(thread)
    await thread.respond(request.id, { approved: true, by: 'ben', remember: { for: 'thread' } })
    await thread.waitUntilIdle()
    const grants = await threads().grants({ threadId: thread.threadId })
    expect(await threads().revokeGrant(grants[0]?.id ?? '')).toBe(true)
    expect(await threads().revokeGrant(grants[0]?.id ?? '')).toBe(true)

    const facts = await factsOf(thread)
    const of = (callId: string) =>
      facts.flatMap((one) => (one.type.startsWith('hook.') && one.toolCallId === callId ? [one] : []))
    const point = 'before_tool_call'
    const scope = { runId: 'run_1', stepId: 'step_1_1' }
    expect(of('call_1_1_0').slice(0, 2)).toMatchObject([
      {
        ...scope,
        type: 'hook.started',
        // What the call runs with by the time of delivery.
        payload: {
          hook: 'guard',
          point,
          timeout: 1_000,
          preview: JSON.stringify({ task: marked('Checked') }),
        },
      },
      {
        ...scope,
        type: 'hook.completed',
        payload: {
          ...{ hook: 'guard', point, status: 'completed', decision: 'require_approval' },
          ...{ duration: expect.any(Number), updated: ['arguments:call_1_1_0'] },
        },
      },
    ])
    expect(of('call_1_1_1').slice(0, 2)).toMatchObject([
      { ...scope, type: 'hook.started', payload: { hook: 'guard', point, timeout: 1_000 } },
      {
        ...scope,
        type: 'hook.failed',
        payload: { hook: 'guard', point, code: 'threw', retryable: true, fails: 'closed' },
      },
    ])
    const grantId = grants[0]?.id
    expect((await changesOf(thread)).map(({ runId, payload }) => [runId, payload])).toEqual([
      ['run_1', { subject: 'run', change: 'rules_added', rules: 1, digest: expect.any(String) }],
      [undefined, { subject: 'thread', change: 'grant_given', grantId, by: 'ben' }],
      [undefined, { subject: 'thread', change: 'grant_revoked', grantId }],
    ])
  })

  test('rules that a run has already change nothing, and others are a change of that run alone', async () => {
    const runPermissions = { 'orders.*': 'deny' } as const
    const { thread } = await start({
      voices: { seller: [calls(order('note')), done, done, done, done] },
      tools: {
        note: async (state) => {
          // The next step of this run takes it.
          await threads()
            .get(state.threadId)
            .send({ content: marked('Also'), runPermissions })
          return { status: 'success', result: marked('Noted') }
        },
      },
      runPermissions,
    })
    await thread.waitUntilIdle()
    await thread.send({ content: marked('Plain') })
    await thread.waitUntilIdle()
    await thread.send({ content: marked('Again'), runPermissions: { 'texts.*': 'deny' } })
    await thread.waitUntilIdle()
    const changes = await changesOf(thread)
    expect(changes.map(({ runId, payload: { rules } }) => [runId, rules])).toEqual([
      ['run_1', 1],
      ['run_3', 1],
    ])
    expect(new Set(changes.map(({ payload: { digest } }) => digest)).size).toBe(2)
  })

  test('a thread to which nothing happens has no such event, and a closed one gets none', async () => {
    const asked = { permissions: { 'orders.refund': 'require_approval' } } as const
    const { thread } = await start({ voices: { seller: [calls(refund), done] }, given: asked })
    await thread.waitUntilIdle()
    expect(await changesOf(thread)).toEqual([])
    const { id } = await requestOf(thread)
    await thread.respond(id, { approved: true, by: 'ben', remember: { for: 'tree' } })
    await thread.waitUntilIdle()
    await thread.terminate()
    const [grant] = await threads().grants({ threadId: thread.threadId })
    expect(await threads().revokeGrant(grant?.id ?? '')).toBe(true)
    expect((await changesOf(thread)).map(({ payload: { change } }) => change)).toEqual(['grant_given'])
  })
})
