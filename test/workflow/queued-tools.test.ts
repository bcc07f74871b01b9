import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const work = { name: 'work', args: { task: marked('first') } }

threeRuns((desk) => {
  test('SA-R-02.3 a queued tool wakes an idle thread', async () => {
    const { thread, chat } = await desk.start({
      message: null,
      chat: [{ text: marked('I see') }],
      tools: { work: (_state, args) => ({ status: 'success', result: `${String(args['task'])}` }) },
    })
    const { toolCallId } = await thread.queueTool('work', { task: marked('from outside') })
    const run = await thread.waitUntilIdle()
    expect(run.reply?.content).toBe(marked('I see'))
    expect(chat.requests).toHaveLength(1)
    const [result] = await toolResults(thread)
    expect(result).toMatchObject({ tool_call_id: toolCallId, content: marked('from outside') })
    expect(chat.requests[0]?.messages.at(-1)?.text).toContain(marked('from outside'))
  })

  test('SA-R-12.5 a call by code leaves a status line that no model reads', async () => {
    const { thread, chat } = await desk.start({
      message: null,
      chat: [{ toolCalls: [work] }, { text: marked('I see') }],
      tools: {
        work: (state) => {
          state.queueTool('third', { task: marked('from a tool') })
          return { status: 'success', result: marked('ok') }
        },
      },
    })
    const { toolCallId } = await thread.queueTool('other', { task: marked('from outside') })
    await thread.waitUntilIdle()
    const { messages } = await thread.messages({ includeSilent: true })
    const lines = messages.filter(({ metadata }) => metadata?.['status_kind'] !== undefined)
    expect(lines).toMatchObject([
      { role: 'system', metadata: { tool: 'other', tool_call_id: toolCallId } },
      { role: 'system', metadata: { status_kind: 'runtime_tool_invocation', tool: 'third' } },
    ])
    // Each stands before the row that holds its call.
    for (const line of lines) {
      const holder = messages[messages.indexOf(line) + 1]
      expect(holder?.metadata).toEqual({ queued: true })
    }
    expect(chat.requests).toHaveLength(2)
    const asked = JSON.stringify(chat.requests.map(({ raw }) => raw.prompt))
    expect(asked).toContain(marked('from a tool'))
    expect(asked).not.toContain('called by code')
  })

  test('the same id queues a tool once', async () => {
    let runs = 0
    const { thread } = await desk.start({
      chat: [{ text: marked('Hello') }, { text: marked('Once') }],
      tools: {
        work: () => {
          runs += 1
          return { status: 'success' }
        },
      },
    })
    await thread.waitUntilIdle()
    const id = `queued-${thread.threadId}`
    await thread.queueTool('work', { task: marked('x') }, { id })
    await thread.waitUntilIdle()
    await thread.queueTool('work', { task: marked('x') }, { id })
    await thread.waitUntilIdle()
    expect(runs).toBe(1)
  })

  test('tools that a tool queues run after the step’s calls', async () => {
    const order: string[] = []
    const { thread } = await desk.start({
      chat: [
        { toolCalls: [work, { name: 'other', args: { task: marked('second') } }] },
        { text: marked('Done') },
      ],
      tools: {
        work: (state) => {
          order.push('work')
          state.queueTool('third', { task: marked('queued') })
          return { status: 'success' }
        },
        other: () => {
          order.push('other')
          return { status: 'success' }
        },
        third: (_state, args) => {
          order.push(String(args['task']))
          return { status: 'success' }
        },
      },
    })
    const run = await thread.waitUntilIdle()
    expect(order).toEqual(['work', 'other', marked('queued')])
    expect(run.steps).toBe(2)
  })

  test('a queued tool waits its turn behind a message', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ text: marked('Hello') }, { text: marked('To the message') }, { text: marked('To the tool') }],
    })
    await thread.waitUntilIdle()
    await thread.send(marked('A question'))
    await thread.queueTool('work', { task: marked('later') })
    await thread.waitUntilIdle()
    expect(chat.requests.length).toBeGreaterThanOrEqual(2)
    expect((await toolResults(thread)).map(({ name }) => name)).toEqual(['work'])
    const types = (await factsOf(thread)).flatMap(({ type, payload }) =>
      type === 'tool.started' || type === 'model.requested' ? [`${type} ${JSON.stringify(payload)}`] : [],
    )
    expect(types.findIndex((line) => line.startsWith('tool'))).toBeGreaterThan(0)
  })

  test('a tool of no prompt can be queued', async () => {
    const { thread } = await desk.start({
      agent: 'auditor',
      review: [{ text: marked('Hello') }, { text: marked('Seen') }],
    })
    await thread.waitUntilIdle()
    await thread.queueTool('work', { task: marked('unlisted') })
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]).toMatchObject({ name: 'work', tool_status: 'success' })
  })

  test('a queued prompt and a queued handoff are what they are', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ text: marked('Hello') }, { text: marked('Summarized') }],
      review: [{ text: marked('Short') }, { text: marked('Taken over') }],
    })
    await thread.waitUntilIdle()
    await thread.queueTool('summarize' as never, { text: marked('A story') } as never)
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toContain(marked('Short'))
    await thread.queueTool('colleague' as never, { task: marked('Take it') } as never)
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Taken over'))
  })
})
