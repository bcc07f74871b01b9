import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const colleague = { name: 'colleague', args: { task: marked('Take over') } }

threeRuns((desk) => {
  test('SA-A-06.1 KP-09.1 a handoff changes the agent on the same thread', async () => {
    const { thread, review } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [colleague] }],
      review: [{ text: marked('Colleague here') }, { text: marked('Still here') }],
    })
    const run = await thread.waitUntilIdle()
    expect(run.reply?.content).toBe(marked('Colleague here'))
    expect(await thread.snapshot()).toMatchObject({
      ...{ threadId: thread.threadId, root: thread.threadId, agent: 'colleague' },
    })
    // The same `create` again is the same thread, whoever has it now.
    const again = await desk.env.threads.create({ agent: 'manager', id: thread.threadId })
    expect(again.threadId).toBe(thread.threadId)
    const [request] = review.requests
    expect(request?.system).toBe('You are the colleague.')
    const texts = request?.messages.map(({ text }) => text)
    expect(texts?.[0]).toBe(marked('Hello'))
    expect(texts?.at(-1)).toBe(marked('Take over'))
    await thread.send(marked('Are you there?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Still here'))
  })

  test('SA-R-05.3c KP-03.0 AR-EC.2 an ai_human agent called as a tool is a handoff', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [colleague] }],
      review: [{ text: marked('Here') }],
    })
    const run = await thread.waitUntilIdle()
    expect(run.steps).toBe(2)
    const facts = (await factsOf(thread)).filter(({ type }) => type.startsWith('thread.'))
    expect(facts.map(({ type }) => type)).toEqual(['thread.started', 'thread.updated'])
    expect(facts[1]?.payload).toMatchObject({ agent: 'colleague' })
    const listed: string[] = []
    for await (const { threadId } of desk.env.threads.list({ agent: 'colleague' })) listed.push(threadId)
    expect(listed).toContain(thread.threadId)
  })

  test('SA-R-12.5 a handoff leaves a status line that no model reads', async () => {
    const { thread, review } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [colleague] }],
      review: [{ text: marked('Here') }],
    })
    await thread.waitUntilIdle()
    const { messages } = await thread.messages({ includeSilent: true })
    const lines = messages.filter(({ metadata }) => metadata?.['status_kind'] !== undefined)
    const content = 'The agent "colleague" took over from "manager".'
    const metadata = { status_kind: 'handoff', agent: 'colleague', from_agent: 'manager' }
    expect(lines).toMatchObject([{ role: 'system', silent: true, content, metadata }])
    expect(JSON.stringify(review.requests.map(({ raw }) => raw.prompt))).not.toContain('took over from')
  })

  test('the first handoff of a step wins', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [colleague, colleague] }],
      review: [{ text: marked('Here') }],
    })
    await thread.waitUntilIdle()
    const results = await toolResults(thread)
    expect(results.map(({ tool_status }) => tool_status)).toEqual(['success', 'error'])
    const taken = (await transcript(thread)).filter(({ content }) => content === marked('Take over'))
    expect(taken).toHaveLength(1)
  })

  test('the other calls of the step still run', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [colleague, { name: 'work', args: { task: marked('rest') } }] }],
      review: [{ text: marked('Here') }],
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ name }) => name)).toEqual(['colleague', 'work'])
  })
})
