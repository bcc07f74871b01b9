import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { CreateThread, ThreadHandle } from '../../src/client/index.js'
import type { AgentName } from '../../src/definitions/registry.js'
import type { Policy } from '../../src/index.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import type { FamilyScript, Voices } from '../support/family-scripts.js'
import { activityNames } from '../support/histories.js'
import { approve, calls, create, done, order, write } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import type { PolicyDesk } from '../support/policy-desk.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

interface Scenario extends FamilyScript {
  readonly agent?: AgentName<PolicyDesk>
  readonly given?: Pick<CreateThread, 'permissions' | 'permissionMode' | 'interactive' | 'account' | 'tags'>
}

interface Started {
  readonly thread: ThreadHandle
  readonly voices: Voices
}

/** The policy function of the worker, which each test may set. */
let policy: Policy | undefined
const scripts = createFamilyScripts(policyDesk)
const { models, tools } = scripts
let number = 0

const refund = order('refund')

/** Each kind of call with its capability, and how often the effect of the call has happened. */
const KINDS = [
  ['a tool', 'orders.refund', refund],
  ['a prompt', 'texts.draft', order('draft')],
  ['a handoff', 'people.hand_over', order('chief')],
  ['a subagent', 'agents.run', order('runner')],
  ['a new instance of a subagent', 'agents.keep', create('resident')],
] as const

threeModes(
  {
    registry: policyDesk,
    models,
    tools,
    policy: async (action, context) => (policy === undefined ? 'allow' : policy(action, context)),
  },
  (mode) => {
    let refunds = 0
    beforeAll(() => {
      policy = undefined
    })
    afterAll(() => {
      policy = undefined
    })

    async function start({ agent = 'seller', given, voices, tools: behaviours }: Scenario): Promise<Started> {
      refunds = 0
      const id = `policy-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
      const scripted = scripts.script(id, mode.env.store, {
        voices,
        tools: {
          refund: () => {
            refunds += 1
            return { status: 'success', result: marked('Refunded') }
          },
          ...behaviours,
        },
      })
      const thread = await mode.env.threads.create({ agent, id, message: marked('Hello'), ...given })
      return { thread, voices: scripted }
    }

    const everyVoice = (...seller: Scenario['voices'][string] & readonly unknown[]): Scenario['voices'] => ({
      seller,
      draft: [{ text: marked('A draft') }],
      boss: [{ text: marked('I take over') }],
      worker: [{ text: marked('Work') }],
      judge: [approve()],
    })

    /** What has come of the call: refunds, nested steps, a new agent, children. */
    async function effectsOf({ thread, voices }: Started): Promise<number> {
      const { children } = await thread.snapshot()
      const { agent } = await thread.snapshot()
      const nested = voices['draft']?.requests.length ?? 0
      return refunds + nested + children.length + (agent === 'chief' ? 1 : 0)
    }

    async function requestOf(thread: ThreadHandle) {
      const [request] = (await thread.snapshot()).pending
      if (request === undefined) throw new Error('Expected a request.')
      return request
    }

    describe.each(KINDS)('a call of %s', (_kind, capability, call) => {
      test('PL-LC.2 PL-LC.3 AR-PS.0 is denied by a rule, without a trace of its effect', async () => {
        const started = await start({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'deny' } },
        })
        const { thread } = started
        expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
        const [result] = await toolResults(thread)
        expect(result).toMatchObject({ tool_status: 'error' })
        expect(result?.content).toBe('Error: This call is not allowed here, so it was not made.')
        expect(await effectsOf(started)).toBe(0)
        expect(await thread.decisions()).toMatchObject([
          { decision: 'denied', source: 'thread', rules: [`thread:${capability}`], startedAt: null },
        ])
        const facts = await factsOf(thread)
        expect(facts.filter(({ type }) => type === 'tool.started')).toEqual([])
        expect(facts.filter(({ type }) => type === 'permission.evaluated')).toMatchObject([
          { payload: { decision: 'denied', source: 'thread', rules: [`thread:${capability}`] } },
        ])
      })

      test('PL-AC.1 AR-PS.8 waits for a person where a rule wants that, and runs once', async () => {
        const started = await start({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'require_approval' } },
        })
        const { thread } = started
        expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
        expect(await effectsOf(started)).toBe(0)
        const request = await requestOf(thread)
        expect(request).toMatchObject({
          kind: 'approval',
          toolName: call.name,
          decision: { source: 'thread', rules: [`thread:${capability}`], capabilities: [capability] },
        })
        expect(await thread.decisions()).toMatchObject([{ decision: 'asked', startedAt: null }])
        await thread.respond(request.id, { approved: true, by: 'ben' })
        await thread.waitUntilIdle()
        expect(await effectsOf(started)).toBe(1)
        const [first] = await thread.decisions()
        expect(first).toMatchObject({
          ...{ decision: 'allowed', source: 'person', by: 'ben', requestId: request.id },
          ...{ rules: [`thread:${capability}`], capabilities: [capability] },
        })
        expect(first?.startedAt).not.toBeNull()
      })

      test('is denied by a person, without a trace of its effect', async () => {
        const started = await start({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'require_approval' } },
        })
        const { thread } = started
        await thread.waitUntilIdle()
        await thread.respond((await requestOf(thread)).id, {
          approved: false,
          reason: marked('No'),
          by: 'ben',
        })
        expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
        expect(await effectsOf(started)).toBe(0)
        expect((await toolResults(thread))[0]?.content).toContain(marked('No'))
        expect(await thread.decisions()).toMatchObject([
          { decision: 'denied', source: 'person', by: 'ben', startedAt: null },
        ])
      })

      test('PL-AP.4 AR-PS.9 fails at once where nobody can be asked', async () => {
        const started = await start({
          voices: everyVoice(calls(call), done),
          given: { permissions: { [capability]: 'require_approval' }, interactive: false },
        })
        const { thread } = started
        expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
        expect(await effectsOf(started)).toBe(0)
        const [result] = await toolResults(thread)
        expect(result?.content).toContain('needs the approval of a person, and nobody can be asked here')
        expect(result?.content).toContain(`"toolName":"${call.name}"`)
        const facts = await factsOf(thread)
        expect(facts.filter(({ type }) => type === 'action.required')).toEqual([])
        expect(facts.find(({ type }) => type === 'tool.result')?.payload).toMatchObject({
          outcome: 'denied',
          errorCode: 'approval_required',
        })
      })

      test('PL-CAP.4 runs where no rule is about it, and its decision is a row', async () => {
        const started = await start({ voices: everyVoice(calls(call), done) })
        const { thread } = started
        await thread.waitUntilIdle()
        expect(await effectsOf(started)).toBe(1)
        const [first] = await thread.decisions()
        expect(first).toMatchObject({ decision: 'allowed', toolName: call.name })
        expect(first?.startedAt).not.toBeNull()
      })
    })

    test('PL-LC.3 a message to a subagent needs the authority of the one that gets it', async () => {
      const addressed = async () => {
        const [child] = (await started.thread.snapshot()).children
        return calls(write(child?.reference ?? '', 'More'))
      }
      const started = await start({
        voices: everyVoice(calls(create('resident')), addressed, done),
        given: { permissions: { 'agents.keep': 'require_approval' } },
      })
      const { thread, voices } = started
      await thread.waitUntilIdle()
      await thread.respond((await requestOf(thread)).id, { approved: true })
      await until('a second request', async () => {
        const [request] = (await thread.snapshot()).pending
        return request?.kind === 'approval' && request.toolName === 'subagent_message'
      })
      await until('the first work', () => voices['worker']?.requests.length === 1)
      await thread.respond((await requestOf(thread)).id, { approved: false })
      await thread.waitUntilIdle()
      expect(await thread.decisions()).toMatchObject([
        { toolName: 'subagent_create', decision: 'allowed', source: 'person' },
        { toolName: 'subagent_message', decision: 'denied', source: 'person', capabilities: ['agents.keep'] },
      ])
      expect(voices['worker']?.requests).toHaveLength(1)
    })

    test('PL-RC.8 a subagent has the rules of its parent, and cannot weaken them', async () => {
      const started = await start({
        voices: {
          seller: [calls(order('runner')), done],
          worker: [calls(refund), { text: marked('Work') }],
          judge: [approve()],
        },
        given: { permissions: { 'orders.*': 'deny' } },
      })
      const { thread } = started
      await thread.waitUntilIdle()
      expect(refunds).toBe(0)
      const [child] = (await thread.snapshot()).children
      const decisions = await mode.env.threads.get(child?.reference ?? '').decisions()
      expect(decisions).toMatchObject([
        { toolName: 'refund', decision: 'denied', source: 'thread', rules: ['thread:orders.*'] },
        { toolName: 'approve', decision: 'allowed' },
      ])
    })

    test('PL-LC.3 code that calls a tool in place is bound by the same rules', async () => {
      const results: unknown[] = []
      const delegate: NonNullable<Scenario['tools']>[string] = async (state, args) => {
        results.push(await state.invokeTool('refund', args))
        return { status: 'success', result: marked('Tried') }
      }
      for (const permissions of [
        { 'orders.refund': 'deny' },
        { 'orders.refund': 'require_approval' },
        {},
      ] as const) {
        const { thread } = await start({
          voices: everyVoice(calls(order('delegate')), done),
          tools: { delegate },
          given: { permissions },
        })
        await thread.waitUntilIdle()
      }
      expect(results).toMatchObject([
        { status: 'error', error_code: 'denied' },
        { status: 'error', error_code: 'approval_required' },
        { status: 'success' },
      ])
      expect(refunds).toBe(1)
    })

    test('PL-LC.3 a tool that a client queues is bound by the same rules', async () => {
      const { thread } = await start({
        voices: everyVoice(done, done),
        given: { permissions: { 'orders.refund': 'deny' } },
      })
      await thread.waitUntilIdle()
      await thread.queueTool('refund', { task: marked('All of it') })
      await thread.waitUntilIdle()
      expect(refunds).toBe(0)
      expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'thread' }])
      const phases = (await factsOf(thread)).filter(({ type }) => type === 'permission.evaluated')
      expect(phases).toHaveLength(1)
    })

    test('PL-RC.8 a rule of the agent asks, and a thread that allows does not weaken it', async () => {
      const { thread } = await start({
        agent: 'junior',
        voices: everyVoice(calls(refund), done),
        given: { permissions: { 'orders.refund': 'allow' } },
      })
      expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
      expect((await requestOf(thread)).kind).toBe('approval')
      expect(await thread.decisions()).toMatchObject([
        {
          ...{ decision: 'asked', source: 'agent', rules: ['agent:orders.refund'] },
          destructive: { impact: 'The money is gone.', undo: 'Charge again.' },
        },
      ])
      await thread.terminate()
    })

    test('PL-CAP.5 a policy function decides by the arguments and the account', async () => {
      policy = ({ name, arguments: args }, { account }) => {
        if (name !== 'refund') return true
        return args['task'] === marked('Write') && account === 'acme'
          ? { effect: 'deny', reason: 'Not for acme.' }
          : 'allow'
      }
      try {
        const voices = everyVoice(calls(refund), done)
        const { thread: ofAcme } = await start({ voices, given: { account: 'acme' } })
        await ofAcme.waitUntilIdle()
        expect(refunds).toBe(0)
        expect((await toolResults(ofAcme))[0]?.content).toContain('The reason: Not for acme.')
        expect(await ofAcme.decisions()).toMatchObject([
          { decision: 'denied', source: 'policy', reason: 'Not for acme.' },
        ])
        const { thread: other } = await start({ voices, given: { account: 'other' } })
        await other.waitUntilIdle()
        expect(refunds).toBe(1)
      } finally {
        policy = undefined
      }
    })

    test.each([
      ['throws', () => Promise.reject(new Error('The rules are gone.'))],
      ['answers with something else', () => 'perhaps' as never],
    ])('AR-HP.8 a policy function that %s denies', async (_what, broken) => {
      policy = broken
      try {
        const { thread } = await start({ voices: everyVoice(calls(order('note')), done) })
        await thread.waitUntilIdle()
        expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'policy' }])
        const warnings = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
        expect(warnings).toMatchObject([{ payload: { code: 'policy_failed' } }])
        expect(await thread.errors()).toMatchObject([{ type: 'policy.failed' }])
      } finally {
        policy = undefined
      }
    })

    test('AR-S3.3 bypass asks nobody, and allows nothing that is denied', async () => {
      const { thread } = await start({
        agent: 'junior',
        voices: everyVoice(calls(refund, order('look')), done),
        given: { permissionMode: 'bypass', permissions: { 'orders.read': 'deny' } },
      })
      await thread.waitUntilIdle()
      expect(refunds).toBe(1)
      expect(await thread.decisions()).toMatchObject([
        { toolName: 'refund', decision: 'allowed', source: 'mode', mode: 'bypass' },
        { toolName: 'look', decision: 'denied', source: 'thread', mode: 'bypass' },
      ])
    })

    test('AR-PS.2 on_failure asks once a tool has failed in the run', async () => {
      const { thread } = await start({
        voices: everyVoice(calls(order('note')), calls(order('note')), done),
        tools: { note: () => ({ status: 'error', error: marked('broken') }) },
        given: { permissionMode: 'on_failure' },
      })
      expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
      expect(await thread.decisions()).toMatchObject([
        { decision: 'allowed' },
        { decision: 'asked', source: 'mode', mode: 'on_failure' },
      ])
      await thread.terminate()
    })

    test('a thread that exists has the permissions that it was created with', async () => {
      const { thread } = await start({
        voices: everyVoice(done),
        given: { permissions: { 'orders.*': 'deny' } },
      })
      await thread.waitUntilIdle()
      const again = { agent: 'seller', id: thread.threadId } as const
      await expect(
        mode.env.threads.create({ ...again, permissions: { 'orders.*': 'allow' } }),
      ).rejects.toThrow('got one with other permissions: use another id.')
      await mode.env.threads.create({ ...again, permissions: { 'orders.*': 'deny' } })
      await mode.env.threads.create(again)
      expect(activityNames(await mode.runs(thread.threadId)).length).toBeGreaterThan(0)
    })
  },
)
