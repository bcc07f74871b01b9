import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { Action, ActionContext, ToolCallEntry } from '../../src/index.js'
import type { ThreadEvent } from '../../src/protocol/events.js'
import type { tiers } from '../support/approval-desk.js'
import { approvalDesk, approvalDeskOf, models, tools } from '../support/approval-desk.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

/** What the policy function of the worker has judged. */
const judged: { readonly action: Action; readonly context: ActionContext }[] = []

const policy: typeof tiers = (action, context) => {
  judged.push({ action, context })
  return action.name === 'tiered' ? 'allow' : true
}

/** The lifecycle of an action in the words of seed 004, by the table of docs/decisions/0072. */
function lifecycleOf(facts: readonly ThreadEvent[]): readonly string[] {
  const seen = new Set<string>()
  const judgedAs = (call: string, outcome: string): readonly string[] => {
    if (seen.has(call)) return outcome === 'default' ? [] : [`action.policy ${outcome}`]
    seen.add(call)
    return ['action.requested', `action.policy ${outcome}`]
  }
  return facts.flatMap(({ type, toolCallId: call = '', payload }) => {
    const said = payload as Readonly<Record<string, unknown>>
    switch (type) {
      case 'permission.evaluated':
        return judgedAs(call, String(said['decision']))
      case 'permission.requested':
        return ['approval.required']
      case 'permission.resolved':
        return ['approval.decided']
      case 'tool.started':
        return [...judgedAs(call, 'default'), 'action.started']
      case 'tool.result':
        if (said['outcome'] === 'succeeded') return ['action.completed']
        return [said['outcome'] === 'denied' ? 'action.denied' : 'action.failed']
      default:
        return []
    }
  })
}

threeModes({ registry: approvalDesk, models, tools }, (mode) => {
  const { ran, start, startAndAsk } = approvalDeskOf(mode)

  const calledIn = async (thread: ThreadHandle) =>
    (await transcript(thread)).flatMap(({ id, tool_calls: made }) =>
      (JSON.parse(made ?? '[]') as ToolCallEntry[]).map((call) => ({ id, call })),
    )

  test('AR-VA.3 PL-AC.1 PL-AC.2 AR-PS.1 an executed call has the action with checked arguments, what it was judged by, and its result', async () => {
    const thread = await start({ calls: [{ name: 'tiered' }] })
    await thread.waitUntilIdle()
    const [record] = await thread.decisions()
    const [proposed] = await calledIn(thread)
    const [result] = await toolResults(thread)
    const args = { task: marked('Pay'), euros: 10 }
    expect(ran).toEqual([['tiered', args]])
    // The model has left out what has a default.
    expect(JSON.parse(proposed?.call.function.arguments ?? '')).toEqual({ task: marked('Pay') })
    expect(record).toMatchObject({
      ...{ decision: 'allowed', source: 'default', toolCallId: proposed?.call.id, messageId: proposed?.id },
      ...{ outcome: 'succeeded', errorCode: null, resultMessageId: result?.id },
      permission: { mode: 'default', rules: [], sources: ['default'], interactive: true },
      sandbox: { state: 'unavailable', reason: 'worker_process' },
    })
    expect(record?.action).toEqual({
      ...{ id: record?.toolCallId, kind: 'tool', name: 'tiered', arguments: args, artifacts: [] },
      ...{ capabilities: ['orders.refund'], readOnly: false, destructive: false, runtimeOwner: 'local' },
    })
    expect(record?.finishedAt).toBeGreaterThanOrEqual(record?.startedAt ?? Infinity)
  })

  test('AR-VA.3 AR-PS.1 a call that failed, and one that was denied, say so', async () => {
    const failing = { calls: [{ name: 'tiered' }, { name: 'refund' }] } as const
    const thread = await start({
      ...{ ...failing, interactive: false, permissions: { 'orders.*': 'allow' } },
      behaviours: { tiered: () => ({ status: 'error', error: marked('Closed'), error_code: 'closed' }) },
    })
    await thread.waitUntilIdle()
    const results = await toolResults(thread)
    expect(await thread.decisions()).toMatchObject([
      {
        ...{ toolName: 'tiered', decision: 'allowed', outcome: 'failed', errorCode: 'closed' },
        resultMessageId: results[0]?.id,
        permission: { rules: ['thread:orders.*'], sources: ['thread'], interactive: false },
      },
      {
        ...{ toolName: 'refund', decision: 'denied', source: 'not_interactive', outcome: 'denied' },
        ...{ errorCode: 'approval_required', startedAt: null, resultMessageId: results[1]?.id },
        permission: { sources: ['tool'], interactive: false },
        sandbox: { state: 'not_applicable', reason: 'not_begun' },
      },
    ])
  })

  test('PL-AC.2 PL-AC.3 the preview that a person was shown, and the files of the result, are artifacts of the action', async () => {
    const { thread, request } = await startAndAsk({ calls: [{ name: 'refund' }] })
    const preview = {
      kind: 'preview',
      name: 'What is paid',
      actionId: request.toolCallId,
      parts: request.preview,
    }
    const [asked] = await thread.decisions()
    expect(asked?.action.artifacts).toEqual([preview])
    const file = { name: 'bill.txt', mimeType: 'text/plain', data: Buffer.from('Bill').toString('base64') }
    await thread.respond(request.id, { result: { status: 'success', attachments: [file] }, by: 'ben' })
    await thread.waitUntilIdle()
    const [record] = await thread.decisions()
    const [attachment] = (await toolResults(thread))[0]?.attachments ?? []
    expect(record?.action.artifacts).toEqual([
      preview,
      {
        ...{ kind: 'result', name: 'bill.txt', uri: attachment?.path, mediaType: 'text/plain' },
        ...{ actionId: request.toolCallId, metadata: { id: attachment?.id, size: 4 } },
      },
    ])
  })

  test('the three records of a call that a person changed: proposed, decided, executed', async () => {
    const key = marked('key')
    const { thread, request } = await startAndAsk({ calls: [{ name: 'refund', args: { apiKey: key } }] })
    expect((await thread.decisions())[0]?.action.arguments).toEqual({
      ...{ task: marked('Pay'), euros: 10, apiKey: '[redacted]' },
    })
    const changed = { task: marked('Less'), apiKey: '[redacted]' }
    await thread.respond(request.id, { approved: true, by: 'ben', arguments: changed })
    await thread.waitUntilIdle()
    const [record] = await thread.decisions()
    const args = { task: marked('Less'), euros: 10, apiKey: key }
    expect(ran).toEqual([['refund', args]])
    expect(record).toMatchObject({ changed: true, by: 'ben', permission: { sources: ['tool'] } })
    expect(record?.action.arguments).toEqual({ ...args, apiKey: '[redacted]' })
  })

  const REFUND = { calls: [{ name: 'refund' }] } as const
  const TIERED = { calls: [{ name: 'tiered' }] } as const
  const ASK = { permissions: { 'orders.*': 'require_approval' } } as const
  const fails = { tiered: () => ({ status: 'error', error: marked('Closed') }) as const } as const
  const [READY, ASKED] = [
    'action.requested',
    ['action.policy asked', 'approval.required', 'approval.decided'],
  ]
  test.each([
    ['nothing said', TIERED, null, [READY, 'action.policy default', 'action.started', 'action.completed']],
    [
      'allowed by a rule',
      { ...TIERED, permissions: { 'orders.*': 'allow' } },
      null,
      [READY, 'action.policy allowed', 'action.started', 'action.completed'],
    ],
    [
      'denied by a rule',
      { ...REFUND, permissions: { 'orders.*': 'deny' } },
      null,
      [READY, 'action.policy denied', 'action.denied'],
    ],
    ['approved', { ...TIERED, ...ASK }, true, [READY, ...ASKED, 'action.started', 'action.completed']],
    ['not approved', { ...TIERED, ...ASK }, false, [READY, ...ASKED, 'action.denied']],
    [
      'approved, and failed',
      { ...TIERED, ...ASK, behaviours: fails },
      true,
      [READY, ...ASKED, 'action.started', 'action.failed'],
    ],
  ] as const)(
    'PL-LC.2 PL-EV.4 the events of an action in their order: %s',
    async (_what, given, approved, expected) => {
      const thread = await start(given)
      await thread.waitUntilIdle()
      const [request] = (await thread.snapshot()).pending
      if (approved !== null) await thread.respond(request?.id ?? '', { approved, by: 'ben' })
      await thread.waitUntilIdle()
      const facts = await factsOf(thread)
      expect(lifecycleOf(facts)).toEqual(expected)
      expect(ran).toHaveLength(expected.includes('action.completed' as never) ? 1 : 0)
      const evaluated = facts.filter(({ type }) => type === 'permission.evaluated')
      for (const { payload } of evaluated)
        expect(payload).toMatchObject({ toolName: given.calls[0].name, action: 'tool' })
      // What was not allowed has no start, here and in the record.
      const begun = facts.filter(({ type }) => type === 'tool.started').length
      expect(begun).toBe(expected.includes('action.denied' as never) ? 0 : 1)
      expect((await thread.decisions()).map(({ startedAt }) => startedAt !== null)).toEqual([begun === 1])
    },
  )

  test.each([
    ['deny', 'denied'],
    ['require_approval', 'asked'],
  ] as const)(
    'PL-AP.6 a tool whose preview says nothing of capabilities is bound by a rule that says %s',
    async (rule, decision) => {
      const free = await start({ calls: [{ name: 'shown' }] })
      await free.waitUntilIdle()
      expect(ran).toHaveLength(1)
      const thread = await start({ calls: [{ name: 'shown' }], permissions: { 'orders.refund': rule } })
      await thread.waitUntilIdle()
      expect(ran).toEqual([])
      const [record] = await thread.decisions()
      expect(record).toMatchObject({ decision, rules: ['thread:orders.refund'], startedAt: null })
      const shown = [{ kind: 'preview', mediaType: 'text/plain', parts: [{ text: 'Pays 10 euros' }] }]
      expect(record?.action).toMatchObject({
        ...{ capabilities: ['orders.refund'], artifacts: rule === 'deny' ? [] : shown },
      })
    },
  )
})

threeModes({ registry: approvalDesk, models, tools, policy }, (mode) => {
  const { start, requestOf } = approvalDeskOf(mode)

  test('PL-LC.7 what travels between agents, applications and stores is JSON: it survives a round trip', async () => {
    const thread = await start({
      ...{ calls: [{ name: 'tiered' }, { name: 'refund' }], account: 'acme', userId: 'ann', tags: ['vip'] },
      ...{ budgets: { tree: { maxSteps: 20 } }, permissions: { 'orders.*': { most: 3 } } },
    })
    await thread.waitUntilIdle()
    const request = await requestOf(thread)
    const answer = { approved: true, by: 'ben', remember: { for: 'thread' } } as const
    await thread.respond(request.id, answer)
    const result = await thread.waitUntilIdle()
    const facts = await factsOf(thread)
    const manifest = facts.find(({ type }) => type === 'context.resolved')?.payload
    const values = {
      ...{
        task: result,
        snapshot: await thread.snapshot(),
        actions: judged,
        decisions: await thread.decisions(),
      },
      ...{
        budget: await thread.budget(),
        manifest,
        request,
        answer,
        events: facts,
        tools: await thread.tools(),
      },
      permissions: await thread.permissions(),
    }
    for (const [name, value] of Object.entries(values)) {
      expect(value, name).toBeTruthy()
      expect(JSON.parse(JSON.stringify(value)), name).toEqual(value)
    }
    expect(values.decisions.map(({ action }) => action.artifacts.length)).toEqual([0, 1])
    expect(judged.at(-1)?.context).toMatchObject({
      ...{ account: 'acme', userId: 'ann', tags: ['vip'], parent: null, agentChain: ['clerk'] },
      permissions: { 'orders.*': { most: 3 } },
    })
  })
})
