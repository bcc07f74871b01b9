import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const summarize = { name: 'summarize', args: { text: marked('A long story') } }
const other = { name: 'other', args: { task: marked('count') } }

threeRuns((desk) => {
  test('SA-R-05.3b KP-03.0 a prompt runs as a tool of one step', async () => {
    const { thread, chat, review } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, (request) => ({ text: `${request.messages.at(-1)?.text}` })],
      review: [{ text: marked('Short') }],
    })
    const run = await thread.waitUntilIdle()
    expect(run.reply?.content).toContain(marked('Short'))
    expect(review.requests[0]?.system).toBe('You summarize.')
    expect(review.requests[0]?.messages).toMatchObject([{ role: 'user', text: marked('A long story') }])
    expect(chat.requests[1]?.system).toContain('You are the manager of Rest Inn.')
    expect(run.steps).toBe(2)
  })

  test('P2 an image that a prompt paints comes with its result', async () => {
    const image = { mediaType: 'image/png', data: 'iVBORw0KGgo=' }
    const { thread, chat, review } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { files: [image] }],
      review: [{ files: [image] }],
    })
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ reason: 'stop_on_response', steps: 2 })
    expect([chat.requests.length, review.requests.length]).toEqual([2, 1])
    expect(await toolResults(thread)).toMatchObject([
      {
        content: 'The call succeeded. Its result is in the attached files.',
        attachments: [{ path: '/attachments/image.png' }],
      },
    ])
    expect(run.reply).toMatchObject({ content: null, attachments: [{ path: '/attachments/image-2.png' }] })
  })

  test('a nested tool runs once and its result is reported', async () => {
    let runs = 0
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { text: marked('Done') }],
      review: [{ text: marked('Counted'), toolCalls: [other] }],
      tools: {
        other: () => {
          runs += 1
          return { status: 'success', result: marked('seven') }
        },
      },
    })
    await thread.waitUntilIdle()
    expect(runs).toBe(1)
    const [result] = await toolResults(thread)
    expect(result?.name).toBe('summarize')
    expect(result?.content).toContain(marked('seven'))
  })

  test('nested rows are below their call and out of other requests', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { text: marked('Done') }],
      review: [{ text: marked('Nested words'), toolCalls: [other] }],
    })
    await thread.waitUntilIdle()
    const { messages } = await thread.messages({ maxDepth: 8 })
    const nested = messages.filter(({ depth }) => depth === 1)
    const outer = messages.find(({ role, name }) => role === 'tool' && name === 'summarize')
    expect(nested.length).toBeGreaterThanOrEqual(2)
    expect(new Set(nested.map(({ parent_id }) => parent_id))).toEqual(new Set([outer?.id]))
    const roles = chat.requests[1]?.messages.map(({ role }) => role)
    expect(roles).toEqual(['user', 'assistant', 'tool'])
  })

  test('a failed nested tool makes the call an error', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { text: marked('Done') }],
      review: [{ text: marked('Hidden'), toolCalls: [other] }],
      tools: {
        other: () => {
          throw new Error(marked('broken'))
        },
      },
    })
    await thread.waitUntilIdle()
    const [result] = await toolResults(thread)
    expect(result?.tool_status).toBe('error')
    expect(result?.content).toContain(marked('broken'))
    expect(result?.content).not.toContain(marked('Hidden'))
  })

  test('prompts nest eight deep and no deeper', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { text: marked('Done') }],
      review: () => ({ text: marked('Deeper'), toolCalls: [summarize] }),
    })
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ status: 'idle', steps: 2 })
    const { messages } = await thread.messages({ maxDepth: 100 })
    expect(Math.max(...messages.map(({ depth }) => depth))).toBe(8)
  })

  test('bad arguments are refused before the nested request', async () => {
    const { thread, review } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [{ name: 'summarize', args: { text: 7 } }] }, { text: marked('Done') }],
      review: [],
    })
    await thread.waitUntilIdle()
    expect(review.requests).toHaveLength(0)
    expect((await toolResults(thread))[0]?.tool_status).toBe('error')
  })

  test('a nested call can wait for a person', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [summarize] }, { text: marked('Done') }],
      review: [{ toolCalls: [{ name: 'guarded', args: { task: marked('large') } }] }],
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
    const outcomes = (await factsOf(thread)).flatMap((fact) =>
      fact.type === 'tool.result' ? [`${fact.payload.name} ${fact.payload.outcome}`] : [],
    )
    expect(outcomes).toEqual(['guarded succeeded', 'summarize succeeded'])
  })

  test('the usage of nested steps is the run’s', async () => {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [summarize], usage },
        { text: marked('Done'), usage },
      ],
      review: [{ text: marked('Short'), usage }],
    })
    expect((await thread.waitUntilIdle()).usage).toMatchObject({ inputTokens: 30, outputTokens: 15 })
  })
})
