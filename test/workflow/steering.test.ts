import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })

threeRuns((desk) => {
  test('a tool that stops the run interrupts the other calls', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work'), call('other')] }, { text: marked('Next run') }],
      tools: {
        work: (state) => {
          state.execution?.stop()
          return { status: 'success' }
        },
      },
    })
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ status: 'idle', reason: 'stopped' })
    const results = await toolResults(thread)
    expect(results.map(({ tool_status }) => tool_status)).toEqual(['success', 'error'])
    await thread.send(marked('And now?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Next run'))
  })

  test('a forced turn keeps the side although it answered', async () => {
    const { thread, chat } = await desk.start({
      agent: 'closer',
      chat: [{ text: marked('One'), toolCalls: [{ name: 'finish', args: {} }] }, { text: marked('Two') }],
      tools: {
        finish: (state) => {
          state.execution?.forceTurn('a')
          return { status: 'success' }
        },
      },
    })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Two'))
    expect(chat.requests).toHaveLength(2)
  })

  test('a tool that asks for retries is tried again', async () => {
    let tries = 0
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [call('flaky')] }, { text: marked('Done') }],
      tools: {
        flaky: async (state) => {
          tries += 1
          await state.queueMessage({ role: 'user', content: marked(`try ${tries}`) })
          if (tries < 3) throw new Error(marked('not yet'))
          return { status: 'success', result: marked('third time') }
        },
      },
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toBe(marked('third time'))
    const { messages } = await thread.messages()
    const said = messages.flatMap(({ content }) => (content?.startsWith('try') === true ? [content] : []))
    expect(said).toEqual([marked('try 3')])
  })

  test('a tool invokes another in place', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Done') }],
      tools: {
        work: async (state) => {
          const inner = await state.invokeTool('other', { task: marked('inner') })
          const agent = await state.invokeTool('colleague', { task: marked('no') })
          return { status: 'success', result: `${JSON.stringify(inner.result)} ${agent.error ?? ''}` }
        },
        other: (_state, args) => ({ status: 'success', result: `did ${String(args['task'])}` }),
      },
    })
    await thread.waitUntilIdle()
    const results = await toolResults(thread)
    expect(results).toHaveLength(1)
    expect(results[0]?.content).toContain(`did ${marked('inner')}`)
    expect(results[0]?.content).toContain('queueTool')
  })

  test('a hook of the prompt changes what is stored', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      message: `Card 4111111111111111 ${marked('x')}`,
      chat: [{ text: marked('Thanks') }],
    })
    await thread.waitUntilIdle()
    expect(chat.requests[0]?.messages[0]?.text).toBe(`Card [number] ${marked('x')}`)
  })

  test('SA-A-01.2j an agent’s hooks run where its prompt has none', async () => {
    const { thread } = await desk.start({
      agent: 'keeper',
      message: `Card 4111111111111111 ${marked('x')}`,
      chat: [],
    })
    await thread.waitUntilIdle()
    const { messages } = await thread.messages()
    expect(messages[0]?.content).toBe(`Card [number] ${marked('x')}`)
  })
})
