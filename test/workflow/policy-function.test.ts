import { expect, test } from 'vitest'

import type { Policy } from '../../src/index.js'
import { calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { KINDS, models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

/** The policy function of the worker, which each test sets. */
let policy: Policy = () => true

threeModes(
  { registry: policyDesk, models, tools, policy: async (action, context) => policy(action, context) },
  (mode) => {
    const { count, start, everyVoice, effectsOf } = policyDeskOf(mode)

    test('PL-CAP.5 a policy function decides by the arguments and the account', async () => {
      policy = ({ name, arguments: args }, { account }) => {
        if (name !== 'refund') return true
        return args['task'] === marked('Write') && account === 'acme'
          ? { effect: 'deny', reason: 'Not for acme.' }
          : 'allow'
      }
      const voices = everyVoice(calls(refund), done)
      const { thread: ofAcme } = await start({ voices, given: { account: 'acme' } })
      await ofAcme.waitUntilIdle()
      expect(count.refunds).toBe(0)
      expect((await toolResults(ofAcme))[0]?.content).toContain('The reason: Not for acme.')
      expect(await ofAcme.decisions()).toMatchObject([
        { decision: 'denied', source: 'policy', reason: 'Not for acme.' },
      ])
      const { thread: other } = await start({ voices, given: { account: 'other' } })
      await other.waitUntilIdle()
      expect(count.refunds).toBe(1)
    })

    test.each([
      ['throws', () => Promise.reject(new Error('The rules are gone.'))],
      ['answers with something else', () => 'perhaps' as never],
    ])('a policy function that %s denies', async (_what, broken) => {
      policy = broken
      const { thread } = await start({ voices: everyVoice(calls(order('note')), done) })
      await thread.waitUntilIdle()
      expect(await thread.decisions()).toMatchObject([
        { decision: 'denied', source: 'policy', reason: 'The policy function of the worker failed.' },
      ])
      const warnings = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
      expect(warnings).toMatchObject([{ payload: { code: 'policy_failed' } }])
      expect(await thread.errors()).toMatchObject([{ type: 'policy.failed' }])
    })

    test.each(KINDS)('PL-CAP.5 a policy function judges a call of %s', async (_kind, capability, call) => {
      const asked: unknown[] = []
      policy = ({ name, capabilities, arguments: args }) => {
        asked.push([name, capabilities, 'task' in args || 'message' in args])
        return false
      }
      const started = await start({ voices: everyVoice(calls(call), done) })
      await started.thread.waitUntilIdle()
      expect(await effectsOf(started)).toBe(0)
      expect(asked).toEqual([[call.name, [capability], true]])
      expect(await started.thread.decisions()).toMatchObject([{ decision: 'denied', source: 'policy' }])
    })
  },
)
