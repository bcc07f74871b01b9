import { describe, expect, test } from 'vitest'

import { MessageRejectedError, RequestNotFoundError } from '../../src/index.js'
import type { ToolCallEntry } from '../../src/index.js'
import { approvalDesk, approvalDeskOf, models, tools } from '../support/approval-desk.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

threeModes({ registry: approvalDesk, models, tools }, (mode) => {
  const { ran, start, startAndAsk, requestOf } = approvalDeskOf(mode)
  const refund = { name: 'refund', args: { euros: 50 } }

  test('PL-AP.5 AR-CC.3 a request shows the checked arguments, what the tool is for, its capabilities, its preview and the answers', async () => {
    const { thread, request } = await startAndAsk({ calls: [{ name: 'refund' }] })
    expect(request).toMatchObject({
      ...{ kind: 'approval', action: 'tool', toolName: 'refund', description: 'Pays money back' },
      args: { task: marked('Pay'), euros: 10 },
      schema: { type: 'object', properties: { euros: { type: 'number' } } },
      preview: [
        { type: 'text', text: `${marked('Pay')}: 10 euros`, title: 'What is paid' },
        { type: 'diff', before: 'paid', after: 'refunded' },
        { type: 'json' },
      ],
      decision: { source: 'tool', capabilities: ['orders.refund'] },
      answers: ['approve', 'deny', 'remember', 'arguments', 'result'],
    })
    expect(request.toolCallId).toBe((await thread.decisions())[0]?.toolCallId)
    expect(ran).toEqual([])
    await thread.respond(request.id, { approved: true })
    await thread.waitUntilIdle()
    expect(ran).toEqual([['refund', { task: marked('Pay'), euros: 10 }]])
  })

  test('PL-AC.4 a preview that throws denies the call, with a warning', async () => {
    const thread = await start({ calls: [{ name: 'broken' }] })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    expect(ran).toEqual([])
    expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'tool' }])
    const warnings = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
    expect(warnings).toMatchObject([{ payload: { code: 'preview_failed' } }])
    expect(await thread.errors()).toMatchObject([{ type: 'preview.failed', message: 'No preview.' }])
  })

  describe('changed arguments', () => {
    test('PL-AP.7 run; the transcript keeps what the model wrote, and the model reads what was changed', async () => {
      const { thread, request } = await startAndAsk({ calls: [refund] })
      await thread.respond(request.id, {
        approved: true,
        by: 'ben',
        arguments: { task: marked('Less'), euros: 20 },
      })
      await thread.waitUntilIdle()
      expect(ran).toEqual([['refund', { task: marked('Less'), euros: 20 }]])
      const [result] = await toolResults(thread)
      expect(result?.content).toMatch(/^A person changed the arguments of this call to \{.*"euros":20\}/)
      const { messages } = await thread.messages()
      const called = messages.flatMap(({ tool_calls: calls }) => JSON.parse(calls ?? '[]') as ToolCallEntry[])
      expect(called.map((call) => JSON.parse(call.function.arguments) as unknown)).toEqual([
        { task: marked('Pay'), euros: 50 },
      ])
      expect(await thread.decisions()).toMatchObject([
        { decision: 'allowed', source: 'person', by: 'ben', changed: true, requestId: request.id },
      ])
    })

    test('that fail the schema are refused, and the request stays open', async () => {
      const { thread, request } = await startAndAsk({ calls: [refund] })
      for (const changed of [{ euros: 5 }, { task: 'x', euros: 2_000 }, { task: 'x', other: 1 }])
        await expect(thread.respond(request.id, { approved: true, arguments: changed })).rejects.toSatisfy(
          MessageRejectedError.isInstance,
        )
      expect((await requestOf(thread)).id).toBe(request.id)
      expect(ran).toEqual([])
      await thread.respond(request.id, { approved: true })
      await thread.waitUntilIdle()
      expect(ran).toHaveLength(1)
    })

    test('that only the tool can check run nothing, and the model reads why', async () => {
      const { thread, request } = await startAndAsk({ calls: [{ name: 'strict', args: { euros: 4 } }] })
      await thread.respond(request.id, { approved: true, arguments: { task: 'x', euros: 5 } })
      await thread.waitUntilIdle()
      expect(ran).toEqual([])
      const [result] = await toolResults(thread)
      expect(result?.content).toContain(
        'A person gave other arguments, which do not fit: euros: Expected an even number',
      )
    })

    test('hidden fields keep their values', async () => {
      const key = marked('key')
      const { thread, request } = await startAndAsk({ calls: [{ name: 'refund', args: { apiKey: key } }] })
      expect(request.args).toEqual({ task: marked('Pay'), euros: 10, apiKey: '[redacted]' })
      expect(request.preview?.[2]).toEqual({ type: 'json', value: { euros: 10, password: '[redacted]' } })
      await thread.respond(request.id, {
        approved: true,
        arguments: { ...(request.args as object), euros: 11 },
      })
      await thread.waitUntilIdle()
      expect(ran).toEqual([['refund', { task: marked('Pay'), euros: 11, apiKey: key }]])
    })
  })

  test('a person answers in the place of the tool: it does not run, and the model reads whose words these are', async () => {
    const { thread, request } = await startAndAsk({ calls: [refund] })
    const result = { status: 'success', result: marked('Paid by hand') } as const
    await thread.respond(request.id, { result, by: 'ben' })
    await thread.respond(request.id, { result, by: 'ben' })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    expect(ran).toEqual([])
    const [told] = await toolResults(thread)
    expect(told?.content).toBe(`A person answered in the place of this tool:\n\n${marked('Paid by hand')}`)
    expect(told?.tool_status).toBe('success')
    expect(await thread.decisions()).toMatchObject([
      { decision: 'denied', source: 'person', by: 'ben', answered: true, startedAt: null },
    ])
    const resolved = (await factsOf(thread)).filter(({ type }) => type === 'action.resolved')
    expect(resolved).toMatchObject([{ payload: { decision: 'answered', by: 'ben' } }])
  })

  mode.skippingTime(
    'AR-PS.8 a request that expires is denied by the durable timer of the thread; a later answer finds none',
    async () => {
      const { thread, request } = await startAndAsk({ calls: [{ name: 'urgent' }] })
      expect(request.expiresAt).toBe(request.requestedAt + 3_600_000_000)
      await mode.env.sleep('61 minutes')
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      expect(ran).toEqual([])
      const [result] = await toolResults(thread)
      expect(result?.content).toBe('Error: Nobody approved this call in time, so it was not made.')
      expect(await thread.decisions()).toMatchObject([
        { decision: 'denied', source: 'expiry', requestId: request.id, startedAt: null },
      ])
      const resolved = (await factsOf(thread)).filter(({ type }) => type === 'action.resolved')
      expect(resolved).toMatchObject([{ payload: { requestId: request.id, decision: 'expired' } }])
      await expect(thread.respond(request.id, { approved: true })).rejects.toSatisfy(
        RequestNotFoundError.isInstance,
      )
    },
  )

  mode.skippingTime(
    'a request that would expire is answered before, and its timer does nothing',
    async () => {
      const { thread, request } = await startAndAsk({ calls: [{ name: 'urgent' }, refund] })
      await mode.env.sleep('50 minutes')
      await thread.respond(request.id, { approved: true })
      await thread.waitUntilIdle()
      await mode.env.sleep('30 minutes')
      expect(ran.map(([name]) => name)).toEqual(['urgent'])
      expect(await requestOf(thread)).toMatchObject({ toolName: 'refund' })
    },
  )
})
