import { describe, expect, test } from 'vitest'

import type { Permissions } from '../../src/policy/permissions.js'
import { calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { KINDS, models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import type { PolicyScenario } from '../support/policy-runs.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const DENIES = { 'orders.*': 'deny' } as const
const SOURCES = ['account', 'user', 'run'] as const

let number = 0

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { count, start, everyVoice, effectsOf, requestOf } = policyDeskOf(mode)
  const threads = () => mode.env.threads

  /** Names that no other test has: the rules of an account hold for all of its threads. */
  function newOwner(): { readonly account: string; readonly userId: string } {
    number += 1
    return { account: `acme-${number}`, userId: `ann-${number}` }
  }

  /** Starts a thread for which only this source has rules. */
  async function startWith(
    source: (typeof SOURCES)[number],
    rules: Permissions,
    { given, ...scenario }: PolicyScenario,
  ) {
    const owner = newOwner()
    if (source === 'account') await threads().setPermissions({ account: owner.account }, rules)
    if (source === 'user') await threads().setPermissions(owner, rules)
    const ofRun = source === 'run' ? { runPermissions: rules } : {}
    return start({ ...scenario, ...ofRun, given: { ...owner, ...given } })
  }

  describe.each(SOURCES)('a rule of the %s', (source) => {
    test.each(KINDS)(
      'denies a call of %s, without a trace, where the thread allows it',
      async (_kind, capability, call) => {
        const started = await startWith(
          source,
          { [capability]: 'deny' },
          { voices: everyVoice(calls(call), done), given: { permissions: { '*': 'allow' } } },
        )
        const { thread } = started
        expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
        expect(await effectsOf(started)).toBe(0)
        expect((await toolResults(thread))[0]?.content).toBe(
          'Error: This call is not allowed here, so it was not made.',
        )
        const denied = { decision: 'denied', source, rules: [`${source}:${capability}`] }
        expect(await thread.decisions()).toMatchObject([{ ...denied, startedAt: null }])
        const facts = await factsOf(thread)
        expect(facts.filter(({ type }) => type === 'tool.started')).toEqual([])
        expect(facts.filter(({ type }) => type === 'permission.evaluated')).toMatchObject([
          { payload: denied },
        ])
      },
    )

    test('asks a person', async () => {
      const { thread } = await startWith(
        source,
        { 'orders.*': 'require_approval' },
        { voices: everyVoice(calls(refund), done) },
      )
      expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
      const request = await requestOf(thread)
      expect(request).toMatchObject({ decision: { source, rules: [`${source}:orders.*`] } })
      await thread.respond(request.id, { approved: true })
      await thread.waitUntilIdle()
      expect(count.refunds).toBe(1)
    })

    test('PL-RC.8 narrows and never widens: the policy denies, or the rule does', async () => {
      const allows = { '*': 'allow', 'orders.refund': true } as const
      for (const [ofSource, ofThread, by] of [
        [allows, DENIES, 'thread'],
        [DENIES, allows, source],
      ] as const) {
        const { thread } = await startWith(source, ofSource, {
          voices: everyVoice(calls(refund), done),
          given: { permissions: ofThread },
        })
        await thread.waitUntilIdle()
        expect(count.refunds).toBe(0)
        expect(await thread.decisions()).toMatchObject([
          { decision: 'denied', source: by, rules: [`${by}:orders.*`] },
        ])
      }
    })

    test('binds code that calls a tool in place', async () => {
      const results: unknown[] = []
      await startWith(source, DENIES, {
        voices: everyVoice(calls(order('delegate')), done),
        tools: {
          delegate: async (state, args) => {
            results.push(await state.invokeTool('refund', args))
            return { status: 'success', result: marked('Tried') }
          },
        },
      }).then(({ thread }) => thread.waitUntilIdle())
      expect(results).toMatchObject([{ status: 'error', error_code: 'denied' }])
      expect(count.refunds).toBe(0)
    })
  })

  test.each(['account', 'user'] as const)(
    'a rule of the %s that is set while a thread is at work holds for its next call',
    async (source) => {
      const owner = newOwner()
      const named = source === 'account' ? { account: owner.account } : owner
      let refunds = 0
      const { thread } = await start({
        voices: everyVoice(calls(refund), calls(refund), calls(refund), done),
        given: owner,
        tools: {
          refund: async () => {
            refunds += 1
            await threads().setPermissions(named, DENIES)
            return { status: 'success', result: marked('Refunded') }
          },
        },
      })
      await thread.waitUntilIdle()
      expect(refunds).toBe(1)
      const denied = { decision: 'denied', source, rules: [`${source}:orders.*`] }
      expect(await thread.decisions()).toMatchObject([{ decision: 'allowed' }, denied, denied])
      await threads().setPermissions(named, null)
      expect(await threads().permissions(named)).toBeNull()
      await thread.queueTool('refund', { task: marked('Now') })
      await thread.waitUntilIdle()
      expect(refunds).toBe(2)
    },
  )

  test('a person does not allow what was denied while the call waited', async () => {
    const owner = newOwner()
    const { thread } = await start({
      voices: everyVoice(calls(refund), done),
      given: { ...owner, permissions: { 'orders.*': 'require_approval' } },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    await threads().setPermissions({ account: owner.account }, DENIES)
    await thread.respond((await requestOf(thread)).id, { approved: true, by: 'ben', reason: marked('Yes') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
    expect(count.refunds).toBe(0)
    expect((await toolResults(thread))[0]?.content).toBe(
      'Error: This call is not allowed here, so it was not made.',
    )
    expect(await thread.decisions()).toMatchObject([
      { decision: 'denied', source: 'account', rules: ['account:orders.*'], startedAt: null },
    ])
    const told = (await factsOf(thread)).filter(({ type }) =>
      ['action.required', 'action.resolved', 'permission.evaluated', 'tool.started'].includes(type),
    )
    expect(told.map(({ type, payload }) => [type, (payload as { decision?: string }).decision])).toEqual([
      ['permission.evaluated', 'asked'],
      ['action.required', undefined],
      ['permission.evaluated', 'denied'],
      ['action.resolved', 'approved'],
    ])
  })

  test('the rules of an account and of its user are those of no other', async () => {
    const [acme, globex] = [newOwner(), newOwner()]
    const { userId } = acme
    await threads().setPermissions({ account: acme.account }, { 'orders.*': 'deny' })
    await threads().setPermissions({ ...globex, userId }, { 'orders.*': 'deny' })
    const refundsOf = async (given: PolicyScenario['given']): Promise<number> => {
      const { thread } = await start({
        voices: everyVoice(calls(refund), done),
        ...(given === undefined ? {} : { given }),
      })
      await thread.waitUntilIdle()
      return count.refunds
    }
    expect(await refundsOf(acme)).toBe(0)
    expect(await refundsOf({ account: acme.account })).toBe(0)
    expect(await refundsOf(globex)).toBe(1)
    expect(await refundsOf({ account: globex.account, userId })).toBe(0)
    expect(await refundsOf({ account: globex.account })).toBe(1)
    expect(await refundsOf({ userId })).toBe(1)
    expect(await refundsOf({})).toBe(1)
  })
})
