import { expect, test } from 'vitest'

import { approve, calls, create, done, order, write } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

const DENIES = { 'orders.*': 'deny' } as const
const DENIED = { toolName: 'refund', decision: 'denied', source: 'run', rules: ['run:orders.*'] }
const ALLOWED = { toolName: 'refund', decision: 'allowed' }

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { count, start, everyVoice, requestOf } = policyDeskOf(mode)

  const refundsOf = async (reference: string) =>
    (await mode.env.threads.get(reference).decisions()).filter(({ toolName }) => toolName === 'refund')

  test('the rule of a run prevents its second effect, and the next run does not have it', async () => {
    const { thread } = await start({
      voices: everyVoice(calls(refund), done, calls(refund), done, calls(refund), done),
    })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(1)
    await thread.send({ content: marked('Look, and change nothing.'), runPermissions: DENIES })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(1)
    await thread.send(marked('Now you may.'))
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(2)
    expect(await thread.decisions()).toMatchObject([
      { ...ALLOWED, runId: 'run_1' },
      { ...DENIED, runId: 'run_2', startedAt: null },
      { ...ALLOWED, runId: 'run_3' },
    ])
  })

  test('PL-RC.8 a message that joins a run makes its rules stricter, and never weaker', async () => {
    const send = async (permissions: object) => {
      await thread.send({ content: marked('By the way'), runPermissions: permissions as never })
      return { status: 'success' as const, result: marked('Looked') }
    }
    const { thread } = await start({
      voices: everyVoice(calls(order('look')), calls(refund, order('note')), calls(refund), done),
      tools: { look: () => send(DENIES), note: () => send({ '*': 'allow', 'orders.refund': true }) },
      runPermissions: { 'orders.refund': 'allow' },
    })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(0)
    const decisions = await thread.decisions()
    expect(decisions.filter(({ toolName }) => toolName === 'refund')).toMatchObject([
      { ...DENIED, runId: 'run_1' },
      { ...DENIED, runId: 'run_1' },
    ])
  })

  test('a run that continues a stopped one has its rules', async () => {
    const { thread } = await start({
      voices: everyVoice(calls(refund), calls(refund), done, calls(refund), done),
      runPermissions: { 'orders.*': 'require_approval' },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    await thread.stop()
    expect((await thread.waitUntilIdle()).status).toBe('stopped')
    await thread.continue()
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const request = await requestOf(thread)
    expect(request).toMatchObject({ decision: { source: 'run', rules: ['run:orders.*'] } })
    await thread.respond(request.id, { approved: false })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(0)
    await thread.send(marked('Another question'))
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(1)
  })

  test('a subagent that a run starts is bound by the rules of the run', async () => {
    const { thread } = await start({
      voices: {
        seller: [calls(order('runner')), done],
        worker: [calls(refund), { text: marked('Work') }],
        judge: [approve()],
      },
      runPermissions: DENIES,
    })
    await thread.waitUntilIdle()
    expect(count.refunds).toBe(0)
    const [child] = (await thread.snapshot()).children
    expect(await refundsOf(child?.reference ?? '')).toMatchObject([DENIED])
  })

  test('a subagent that a run writes to is bound for that work, and not for the next', async () => {
    const child = async () => (await thread.snapshot()).children[0]?.reference ?? ''
    const addressed = (text: string) => async () => calls(write(await child(), text))
    const { thread } = await start({
      voices: {
        seller: [...[calls(create('resident')), done, addressed('More'), done, addressed('Again'), done]],
        worker: [
          calls(refund),
          { text: marked('Work') },
          calls(refund),
          { text: marked('Work') },
          calls(refund),
          { text: marked('Work') },
        ],
        judge: [approve(), approve(), approve()],
      },
    })
    const worked = (times: number) =>
      until(`${times} refunds decided`, async () => {
        const isDecided = (await refundsOf(await child())).length === times
        return isDecided && (await mode.env.threads.get(await child()).snapshot()).status === 'idle'
      })
    await thread.waitUntilIdle()
    await worked(1)
    await thread.send({ content: marked('Only look.'), runPermissions: DENIES })
    await thread.waitUntilIdle()
    await worked(2)
    await thread.send(marked('As before.'))
    await thread.waitUntilIdle()
    await worked(3)
    expect(await refundsOf(await child())).toMatchObject([ALLOWED, DENIED, ALLOWED])
    expect(count.refunds).toBe(2)
  })

  test('what a subagent of a run tells later is bound by the rules of the run', async () => {
    const { thread } = await start({
      voices: {
        ...everyVoice(calls(create('resident')), done, calls(order('chief')), done),
        worker: [calls(refund), { text: marked('Work') }],
      },
      tools: {
        refund: async (state) => {
          await until('the end of the run', async () => (await thread.snapshot()).status === 'idle')
          await state.notifyParent(marked('Leave it to the chief'))
          return { status: 'success', result: marked('Told') }
        },
      },
      runPermissions: { 'people.*': 'deny' },
    })
    await until('the second run', async () => (await thread.decisions()).length === 2)
    await thread.waitUntilIdle()
    expect(await thread.decisions()).toMatchObject([
      { toolName: 'subagent_create', decision: 'allowed', runId: 'run_1' },
      { toolName: 'chief', decision: 'denied', source: 'run', rules: ['run:people.*'], runId: 'run_2' },
    ])
    expect((await thread.snapshot()).agent).toBe('seller')
  })

  test('a tool that code of a run queues in a subagent is bound by the rules of the run', async () => {
    const { thread } = await start({
      voices: {
        seller: [calls(create('resident')), done, calls(order('delegate')), done],
        worker: [{ text: marked('Work') }, { text: marked('Work') }],
        judge: [approve(), approve()],
      },
      tools: {
        delegate: async (state, args) => {
          const [child] = state.children
          const opened = await state.getChildThread(child?.reference ?? '')
          opened?.queueTool('refund', args as never)
          return { status: 'success', result: marked('Queued') }
        },
      },
    })
    await thread.waitUntilIdle()
    const reference = (await thread.snapshot()).children[0]?.reference ?? ''
    const child = mode.env.threads.get(reference)
    await until('the first work', async () => (await child.snapshot()).status === 'idle')
    await thread.send({ content: marked('Only look.'), runPermissions: DENIES })
    await thread.waitUntilIdle()
    await until('a decision', async () => (await refundsOf(reference)).length === 1)
    await child.waitUntilIdle()
    expect(await refundsOf(reference)).toMatchObject([DENIED])
    expect(count.refunds).toBe(0)
  })
})
