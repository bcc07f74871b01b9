import { describe, expect, test } from 'vitest'

import { approve, calls, create, done, order, write } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { KINDS, models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import type { PolicyScenario } from '../support/policy-runs.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { count, start, everyVoice, effectsOf, requestOf } = policyDeskOf(mode)

  describe.each(KINDS)('a call of %s', (_kind, capability, call) => {
    test('AR-PS.0 is denied by a rule, without a trace of its effect', async () => {
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

    test('waits for a person where a rule wants that, and runs once', async () => {
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
    expect(count.refunds).toBe(0)
    const [child] = (await thread.snapshot()).children
    const decisions = await mode.env.threads.get(child?.reference ?? '').decisions()
    expect(decisions).toMatchObject([
      { toolName: 'refund', decision: 'denied', source: 'thread', rules: ['thread:orders.*'] },
      { toolName: 'approve', decision: 'allowed' },
    ])
  })

  test('PL-LC.3 code that calls a tool or a prompt in place is bound by the same rules', async () => {
    const results: unknown[] = []
    const effects: number[] = []
    const delegate: NonNullable<PolicyScenario['tools']>[string] = async (state, args) => {
      results.push([await state.invokeTool('refund', args), await state.invokeTool('draft', args)])
      return { status: 'success', result: marked('Tried') }
    }
    for (const effect of ['deny', 'require_approval', 'allow'] as const) {
      const started = await start({
        voices: everyVoice(calls(order('delegate')), done),
        tools: { delegate },
        given: { permissions: { 'orders.refund': effect, 'texts.draft': effect } },
      })
      await started.thread.waitUntilIdle()
      effects.push(await effectsOf(started))
    }
    expect(results).toMatchObject([
      [
        { status: 'error', error_code: 'denied' },
        { status: 'error', error_code: 'denied' },
      ],
      [
        { status: 'error', error_code: 'approval_required' },
        { status: 'error', error_code: 'approval_required' },
      ],
      [{ status: 'success' }, { status: 'success' }],
    ])
    expect(effects).toEqual([0, 0, 2])
  })

  test('PL-LC.3 code that queues the start of a subagent is bound by the same rules', async () => {
    const { args } = create('resident')
    const delegate: NonNullable<PolicyScenario['tools']>[string] = async (state) => {
      state.queueTool('subagent_create', args)
      return { status: 'success', result: marked('Queued') }
    }
    const started = await start({
      voices: everyVoice(calls(order('delegate')), done),
      tools: { delegate },
      given: { permissions: { 'agents.keep': 'deny' } },
    })
    await started.thread.waitUntilIdle()
    expect(await effectsOf(started)).toBe(0)
    expect(await started.thread.decisions()).toMatchObject([
      { toolName: 'delegate', decision: 'allowed' },
      { toolName: 'subagent_create', decision: 'denied', source: 'thread', rules: ['thread:agents.keep'] },
    ])
  })

  test('PL-LC.3 a tool that a client queues is bound by the same rules', async () => {
    const { thread } = await start({
      voices: everyVoice(done, done),
      given: { permissions: { 'orders.refund': 'deny' } },
    })
    await thread.waitUntilIdle()
    await thread.queueTool('refund', { task: marked('All of it') })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(0)
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

  test('AR-S3.3 bypass asks nobody, and allows nothing that is denied', async () => {
    const { thread } = await start({
      agent: 'junior',
      voices: everyVoice(calls(refund, order('look')), done),
      given: { permissionMode: 'bypass', permissions: { 'orders.read': 'deny' } },
    })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(1)
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
    await expect(mode.env.threads.create({ ...again, permissions: { 'orders.*': 'allow' } })).rejects.toThrow(
      'got one with other permissions: use another id.',
    )
    await mode.env.threads.create({ ...again, permissions: { 'orders.*': 'deny' } })
    await mode.env.threads.create(again)
  })
})
