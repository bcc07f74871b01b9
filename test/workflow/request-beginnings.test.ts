import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { freshBeginnings, splitCalls } from '../support/request-rules.js'
import { toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const call = (name: string, task: string) => ({ name, args: { task: marked(task) } })

threeRuns((desk) => {
  test('K-22 T12 requests begin alike through tools, prompts, approvals and messages', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      chat: [
        { text: marked('I look'), toolCalls: [call('work', 'first'), call('other', 'second')] },
        { toolCalls: [{ name: 'summarize', args: { text: marked('A long story') } }, call('flaky', 'bad')] },
        { toolCalls: [call('guarded', 'large')] },
        { text: marked('Done') },
        { text: marked('And done') },
        { text: marked('Understood') },
      ],
      review: [{ text: marked('Short'), toolCalls: [call('other', 'nested')] }],
      tools: {
        work: async (state) => {
          state.queueTool('other', { task: marked('queued') })
          await state.queueMessage({ role: 'user', silent: true, content: marked('A note') })
          await thread.send(marked('On the way'))
          return { status: 'success', result: marked('worked') }
        },
        flaky: () => {
          throw new Error(marked('broken'))
        },
      },
    })
    const waiting = await thread.waitUntilIdle()
    expect(waiting.status).toBe('waiting_permission')
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true })
    await thread.waitUntilIdle()
    await thread.send(marked('And this'))
    await thread.waitUntilIdle()
    await thread.queueTool('other', { task: marked('from outside') })
    await thread.waitUntilIdle()
    expect(chat.requests).toHaveLength(6)
    expect(freshBeginnings(chat.requests)).toEqual([])
    expect(chat.requests.flatMap(({ raw }) => splitCalls(raw.prompt))).toEqual([])
    // All that happened is in the last one.
    const texts = chat.requests.at(-1)?.messages.map(({ text }) => text) ?? []
    for (const said of ['A note', 'On the way', 'And this', 'And done']) expect(texts).toContain(marked(said))
    expect(await toolResults(thread)).toHaveLength(7)
  })

  test('K-22 T12 requests begin alike through a stop and a refusal', async () => {
    const { thread, chat } = await desk.start({
      chat: [
        { toolCalls: [call('work', 'first'), call('other', 'second')] },
        { text: marked(Array.from({ length: 200 }, () => 'word').join(' ')), wordDelay: 50 },
        { error: { status: 400, message: marked('No') } },
        { text: marked('Done') },
      ],
    })
    await until('the second request', () => chat.requests.length === 2)
    for await (const event of thread.events()) if (event.type === 'model.delta') break
    await thread.stop()
    await thread.waitUntilIdle()
    await thread.continue()
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'model_failed' })
    await thread.send(marked('And now?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done'))
    expect(chat.requests).toHaveLength(4)
    expect(freshBeginnings(chat.requests)).toEqual([])
  })
})
