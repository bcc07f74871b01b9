import { beforeEach, describe, expect, test } from 'vitest'

import type { JudgedCall, Policy } from '../../src/index.js'
import { calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { deskHooks, policyDesk } from '../support/policy-desk.js'
import { KINDS, models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import type { PolicyScenario } from '../support/policy-runs.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

/** The policy function of the worker. */
let policy: Policy = () => true

beforeEach(() => {
  policy = () => true
  deskHooks.guard = () => null
  deskHooks.standIn = () => null
})

const FAILURES = [
  ['throws', 'threw', () => Promise.reject(new Error('The rules are gone.'))],
  ['hangs', 'timeout', () => new Promise<never>(() => undefined)],
  ['answers something else', 'invalid_answer', () => ({ effect: 'perhaps' }) as never],
] as const

threeModes(
  { registry: policyDesk, models, tools, policy: async (action, context) => policy(action, context) },
  (mode) => {
    const { count, start, everyVoice, effectsOf, requestOf } = policyDeskOf(mode)
    const watched = (scenario: Omit<PolicyScenario, 'agent'>) => start({ ...scenario, agent: 'watched' })

    describe.each(KINDS)('a call of %s', (_kind, capability, call) => {
      test('AR-HP.8 is denied by a hook, without a trace of its effect', async () => {
        deskHooks.guard = ({ threadId }, { name }) => ({
          effect: 'deny',
          reason: marked(`Not ${name}, ${threadId.length > 0}`),
        })
        const started = await watched({ voices: everyVoice(calls(call), done) })
        await started.thread.waitUntilIdle()
        expect(await effectsOf(started)).toBe(0)
        expect((await toolResults(started.thread))[0]?.content).toContain(marked(`Not ${call.name}, true`))
        expect(await started.thread.decisions()).toMatchObject([
          { decision: 'denied', source: 'hook', hook: 'guard', capabilities: [capability], startedAt: null },
        ])
      })

      test('waits for a person where a hook wants that, and the hook is asked again with the answer', async () => {
        const seen: string[] = []
        deskHooks.guard = (_state, { id }) => {
          seen.push(id)
          return { effect: 'require_approval', reason: marked('Look at it') }
        }
        const started = await watched({ voices: everyVoice(calls(call), done) })
        const { thread } = started
        expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
        const request = await requestOf(thread)
        expect(request).toMatchObject({
          decision: { source: 'hook', hook: 'guard', reason: marked('Look at it') },
        })
        await thread.respond(request.id, { approved: true, by: 'ben' })
        await thread.waitUntilIdle()
        expect(await effectsOf(started)).toBe(1)
        expect(seen.filter((id) => id === 'call_1_1_0')).toHaveLength(2)
        const facts = (await factsOf(thread)).filter(
          ({ type, toolCallId }) => type === 'hook.completed' && toolCallId === 'call_1_1_0',
        )
        expect(facts.map(({ payload }) => payload)).toMatchObject([
          { hook: 'guard', decision: 'require_approval' },
          { hook: 'stand_in', decision: 'none' },
          { hook: 'guard', decision: 'require_approval' },
        ])
        expect((await thread.decisions())[0]).toMatchObject({
          ...{ decision: 'allowed', source: 'person', by: 'ben' },
        })
      })

      test('AR-PS.5 runs where a hook answers in the place of a person', async () => {
        const because: unknown[] = []
        deskHooks.standIn = (_state, { name }, why) => {
          because.push([name, why])
          return { effect: 'allow', reason: marked('As agreed') }
        }
        const started = await watched({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'require_approval' } },
        })
        expect(await started.thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
        expect(await effectsOf(started)).toBe(1)
        expect(because).toEqual([[call.name, { source: 'thread', rules: [`thread:${capability}`] }]])
        expect((await started.thread.decisions())[0]).toMatchObject({
          ...{ decision: 'allowed', source: 'hook', hook: 'stand_in', reason: marked('As agreed') },
          ...{ rules: [`thread:${capability}`] },
        })
        const facts = await factsOf(started.thread)
        expect(facts.filter(({ type }) => type === 'action.required')).toEqual([])
      })

      test('is denied by a hook in the place of a person, without a trace of its effect', async () => {
        deskHooks.standIn = () => ({ effect: 'deny', reason: marked('Nobody may') })
        const started = await watched({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'require_approval' } },
        })
        await started.thread.waitUntilIdle()
        expect(await effectsOf(started)).toBe(0)
        expect((await toolResults(started.thread))[0]?.content).toContain(marked('Nobody may'))
        expect(await started.thread.decisions()).toMatchObject([
          { decision: 'denied', source: 'hook', hook: 'stand_in', startedAt: null },
        ])
      })
    })

    test('AR-PS.5 a hook that allows weakens no rule, and no policy', async () => {
      const asked: string[] = []
      deskHooks.guard = () => ({ effect: 'allow', reason: marked('Fine') })
      deskHooks.standIn = (_state, { name }) => {
        asked.push(name)
        return { effect: 'allow' }
      }
      const scenario = { voices: everyVoice(calls(refund), done) }
      const byRule = await watched({ ...scenario, given: { permissions: { 'orders.*': 'deny' } } })
      await byRule.thread.waitUntilIdle()
      expect(await byRule.thread.decisions()).toMatchObject([
        { decision: 'denied', source: 'thread', rules: ['thread:orders.*'] },
      ])
      policy = () => 'deny'
      const byPolicy = await watched(scenario)
      await byPolicy.thread.waitUntilIdle()
      expect(await byPolicy.thread.decisions()).toMatchObject([{ decision: 'denied', source: 'policy' }])
      policy = () => true
      deskHooks.standIn = () => null
      const byPerson = await watched({ ...scenario, given: { permissions: { '*': 'require_approval' } } })
      expect((await byPerson.thread.waitUntilIdle()).status).toBe('waiting_permission')
      expect([count.refunds, asked]).toEqual([0, []])
    })

    test('nobody answers in the place of a person where nobody can be asked, or nothing is to be asked', async () => {
      const asked: string[] = []
      deskHooks.standIn = (_state, { name }) => {
        asked.push(name)
        return { effect: 'allow' }
      }
      const scenario = { voices: everyVoice(calls(refund), done) }
      const permissions = { 'orders.refund': 'require_approval' } as const
      for (const given of [
        { permissions, interactive: false },
        { permissions, permissionMode: 'never' } as const,
      ]) {
        const { thread } = await watched({ ...scenario, given })
        await thread.waitUntilIdle()
        expect(count.refunds).toBe(0)
        expect(await thread.decisions()).toMatchObject([{ decision: 'denied' }])
      }
      const { thread } = await watched(scenario)
      await thread.waitUntilIdle()
      expect([count.refunds, asked]).toEqual([1, []])
    })

    test.each(FAILURES)('AR-HP.8 a hook that %s denies the call', async (_what, code, broken) => {
      deskHooks.guard = broken
      const { thread } = await watched({ voices: everyVoice(calls(refund), done) })
      await thread.waitUntilIdle()
      deskHooks.guard = () => null
      deskHooks.standIn = broken
      const other = await watched({
        voices: everyVoice(calls(refund), done),
        given: { permissions: { '*': 'require_approval' } },
      })
      await other.thread.waitUntilIdle()
      expect(count.refunds).toBe(0)
      for (const [denied, hook, point] of [
        [thread, 'guard', 'before_tool_call'],
        [other.thread, 'stand_in', 'before_permission_request'],
      ] as const) {
        expect(await denied.decisions()).toMatchObject([{ decision: 'denied', source: 'hook', hook }])
        const facts = await factsOf(denied)
        expect(facts.filter(({ type }) => type === 'hook.failed')).toMatchObject([
          { payload: { hook, point, code, fails: 'closed' }, toolCallId: 'call_1_1_0' },
        ])
        expect(facts.filter(({ type }) => type === 'runtime.warning')).toMatchObject([
          { payload: { code: 'hook_denied' } },
        ])
        expect(await denied.errors()).toMatchObject([{ type: `hook.${code}` }])
      }
    })

    test('the facts of a hook say when it began, what it said and how long it took', async () => {
      deskHooks.standIn = () => ({ effect: 'allow' })
      const { thread } = await watched({
        voices: everyVoice(calls(refund), done),
        given: { permissions: { 'orders.refund': 'require_approval' } },
      })
      await thread.waitUntilIdle()
      const facts = (await factsOf(thread)).filter(({ type }) =>
        /^(hook\.|permission\.|tool\.(started|result)$)/.test(type),
      )
      expect(facts.map(({ type, payload, toolCallId }) => [type, payload, toolCallId])).toMatchObject([
        ['hook.started', { hook: 'guard', point: 'before_tool_call', timeout: 1_000 }, 'call_1_1_0'],
        ['hook.completed', { hook: 'guard', decision: 'none', duration: expect.any(Number) }, 'call_1_1_0'],
        ['hook.started', { hook: 'stand_in', point: 'before_permission_request' }, 'call_1_1_0'],
        ['hook.completed', { hook: 'stand_in', decision: 'allow' }, 'call_1_1_0'],
        ['permission.evaluated', { decision: 'allowed', source: 'hook', hook: 'stand_in' }, 'call_1_1_0'],
        ['tool.started', { name: 'refund' }, 'call_1_1_0'],
        ['tool.result', { outcome: 'succeeded' }, 'call_1_1_0'],
      ])
    })

    test('AR-HP.4 a hook gets ids, arguments, traits, mode, rules and references of the call', async () => {
      const given: JudgedCall[] = []
      deskHooks.guard = (_state, call) => void given.push(call)
      const { thread } = await watched({
        voices: everyVoice(calls(refund), done),
        given: { permissionMode: 'auto', permissions: { 'orders.*': 'allow', 'texts.*': 'deny' } },
      })
      await thread.waitUntilIdle()
      const [, answer] = (await thread.messages()).messages
      expect(given).toEqual([
        {
          ...{ id: 'call_1_1_0', kind: 'tool', name: 'refund', arguments: { task: marked('Write') } },
          ...{ capabilities: ['orders.refund'], readOnly: false, threadId: thread.threadId, run: 1, step: 1 },
          destructive: { impact: 'The money is gone.', undo: 'Charge again.' },
          ...{ mode: 'auto', interactive: true, rules: ['thread:orders.*'] },
          ...{ messageId: answer?.id, agent: 'watched', prompt: 'seller', model: 'voice' },
          ...{ sandbox: 'unavailable', workspace: 'unavailable' },
        },
      ])
      // What it refers to is there.
      const asked = (await factsOf(thread)).find(({ type }) => type === 'model.requested')
      expect(asked).toMatchObject({ messageId: answer?.id, payload: { routing: { requested: 'voice' } } })
    })

    test('a hook judges the arguments with which a person approves', async () => {
      const tasks: unknown[] = []
      deskHooks.guard = (_state, { arguments: { task } }) => {
        tasks.push(task)
        return task === marked('More') ? { effect: 'deny' } : { effect: 'require_approval' }
      }
      const { thread } = await watched({ voices: everyVoice(calls(refund), done) })
      await thread.waitUntilIdle()
      const { id } = await requestOf(thread)
      await thread.respond(id, { approved: true, by: 'ben', arguments: { task: marked('More') } })
      await thread.waitUntilIdle()
      expect([count.refunds, tasks]).toEqual([0, [marked('Write'), marked('More')]])
      expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'hook', hook: 'guard' }])
    })

    test('a call in place, and a queued one, meet the same hooks', async () => {
      const results: unknown[] = []
      deskHooks.guard = (_state, { name }) =>
        name === 'delegate' ? null : { effect: 'deny', reason: marked('No') }
      const { thread } = await watched({
        voices: everyVoice(calls(order('delegate')), done, done),
        tools: {
          delegate: async (state, args) => {
            results.push(await state.invokeTool('refund', args), await state.invokeTool('draft', args))
            state.queueTool('refund', args)
            return { status: 'success', result: marked('Tried') }
          },
        },
      })
      await thread.waitUntilIdle()
      expect(count.refunds).toBe(0)
      expect(results).toMatchObject([{ error_code: 'denied' }, { error_code: 'denied' }])
      const facts = (await factsOf(thread)).filter(({ type }) => type === 'hook.completed')
      const first = facts[0]?.toolCallId
      expect(facts.slice(0, 3).map(({ payload, toolCallId }) => [payload, toolCallId])).toMatchObject([
        [{ decision: 'none' }, first],
        [{ decision: 'deny' }, first],
        [{ decision: 'deny' }, first],
      ])
      expect(await thread.decisions()).toMatchObject([
        { toolName: 'delegate', decision: 'allowed', parentCallId: null },
        ...['refund', 'draft'].map((toolName) => ({
          ...{ toolName, decision: 'denied', hook: 'guard', messageId: null, parentCallId: first },
        })),
        { toolName: 'refund', decision: 'denied', hook: 'guard', parentCallId: null },
      ])
    })

    test('without hooks that decide a call has no fact more', async () => {
      const { thread } = await start({ voices: everyVoice(calls(order('note')), done) })
      await thread.waitUntilIdle()
      const facts = (await factsOf(thread)).map(({ type }) => type)
      expect(facts.filter((type) => type.startsWith('hook.'))).toEqual([])
    })
  },
)
