import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

threeRuns((desk) => {
  test('SA-R-04.1 variables are interpolated into the system text', async () => {
    const { thread, chat } = await desk.start({ agent: 'manager', chat: () => ({ text: marked('Hi') }) })
    await thread.waitUntilIdle()
    expect(chat.requests[0]?.system).toBe('You are the manager of Rest Inn.')
  })

  test('SA-A-01.2i a value of the thread wins over the agent’s', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      message: null,
      chat: () => ({ text: marked('Hi') }),
    })
    await thread.setEnv({ HOUSE: marked('Grand Hotel') })
    await thread.send(marked('Where am I?'))
    await thread.waitUntilIdle()
    expect(chat.requests[0]?.system).toBe(`You are the manager of ${marked('Grand Hotel')}.`)
  })

  test('a run that lacks variables is blocked until they come', async () => {
    const { thread, chat } = await desk.start({ agent: 'keeper', chat: () => ({ text: marked('Safe') }) })
    const blocked = await thread.waitUntilIdle()
    expect(blocked).toMatchObject({ status: 'blocked', reason: 'blocked' })
    expect(chat.requests).toHaveLength(0)
    const [request] = (await thread.snapshot()).pending
    expect(request).toMatchObject({ kind: 'variables', missing: ['OWNER', 'SAFE_CODE'] })
    await thread.setEnv({ OWNER: marked('Ann') })
    expect((await thread.waitUntilIdle()).status).toBe('blocked')
    const [second] = (await thread.snapshot()).pending
    expect(second).toMatchObject({ missing: ['SAFE_CODE'] })
    await thread.respond(second?.id ?? '', { env: { SAFE_CODE: marked('4711') } })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Safe'))
    expect(chat.requests[0]?.messages.map(({ text }) => text)).toEqual([marked('Hello')])
    expect((await thread.snapshot()).pending).toEqual([])
  })

  test('a message to a blocked thread makes it look again', async () => {
    const { thread } = await desk.start({ agent: 'keeper', chat: () => ({ text: marked('Safe') }) })
    await thread.waitUntilIdle()
    await thread.send(marked('Are you there?'))
    expect((await thread.waitUntilIdle()).status).toBe('blocked')
    await thread.setEnv({ OWNER: marked('Ann'), SAFE_CODE: marked('4711') })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
  })

  test('a secret is for tools and in no request', async () => {
    const { thread, chat } = await desk.start({
      agent: 'keeper',
      message: null,
      chat: [{ toolCalls: [{ name: 'unlock', args: {} }] }, { text: marked('Open') }],
      tools: {
        unlock: async (state) => ({
          status: 'success',
          result: `${await state.envType('SAFE_CODE')} of ${(await state.env('SAFE_CODE')).length}`,
        }),
      },
    })
    await thread.setEnv({ OWNER: marked('Ann'), SAFE_CODE: marked('secret-4711') })
    await thread.send(marked('Open it'))
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toBe(`secret of ${marked('secret-4711').length}`)
    expect(JSON.stringify(chat.requests)).not.toContain('secret-4711')
    expect(JSON.stringify(await factsOf(thread))).not.toContain('secret-4711')
  })

  test('a tool sets variables with its outcome', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('rename') } }] },
        { text: marked('Renamed') },
      ],
      tools: {
        work: async (state) => {
          await state.setEnv('HOUSE', marked('New Inn'), { type: 'text' })
          return { status: 'success', result: await state.env('HOUSE') }
        },
      },
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toBe(marked('New Inn'))
    expect(chat.requests[1]?.system).toBe(`You are the manager of ${marked('New Inn')}.`)
  })
})
