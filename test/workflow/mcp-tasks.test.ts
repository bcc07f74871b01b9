import { afterAll, beforeEach, expect, test } from 'vitest'

import { agent } from '../../src/index.js'
import { mcpServer } from '../../src/mcp/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { createTaskBench } from '../mcp/mcp-task-server.js'
import { serveMcp } from '../mcp/mcp-test-server.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

let says: ScriptedAnswer[] = []
beforeEach(() => {
  says = []
})

/** Milliseconds, on a busy machine. */
const SLOW = 80_000

const bench = createTaskBench()
const { url, close } = await serveMcp(bench.register)
afterAll(close)

const model = scriptedModel(() => {
  const next = says.shift()
  if (next === undefined) throw new Error('Expected no request, got one.')
  return next
})
const oven = mcpServer({ name: 'oven', url, tools: 'all' })
const baker = agent({ name: 'baker', model, instructions: 'You bake.', tools: { oven } })

threeModes({ agents: [baker], models: model }, (modes) => {
  const start = async (name: string) => {
    const order = marked(`${name} ${modes.mode}`)
    says = [{ toolCalls: [{ name: 'bake', args: { order } }] }, { text: marked('Done') }]
    const id = `mcp-tasks-${name}-${modes.mode.replaceAll(' ', '-')}`
    const thread = await modes.env.threads.create({ agent: 'baker', message: marked('Hello'), id })
    await until('a task', async () => bench.asked('tasks/get', order) > 0, SLOW)
    return { thread, order }
  }

  test('a task of a server is asked for by durable timers, and its result is that of the call', async () => {
    const { thread, order } = await start('bread')
    const seen = new Set<string>()
    const look = async () => seen.add((await thread.snapshot()).status)
    await until('a few questions', async () => (await look()) && bench.asked('tasks/get', order) > 1, SLOW)
    expect([...seen]).toEqual(['running'])
    bench.finish(order, marked('Baked'))
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('Baked') }])
    const types = (await factsOf(thread)).map(({ type }) => type)
    expect(types.filter((type) => type === 'tool.started')).toHaveLength(1)
    expect(types.filter((type) => type === 'tool.result')).toHaveLength(1)
    expect(bench.asked('tasks/cancel', order)).toBe(0)
  })

  test('a question within a task is a request of a person, and the task goes on with its answer', async () => {
    const { thread, order } = await start('pie')
    bench.ask(order, marked('How large?'))
    await until('a request', async () => (await thread.snapshot()).pending.length === 1)
    expect(await thread.snapshot()).toMatchObject({ status: 'waiting_input' })
    const [request] = (await thread.snapshot()).pending
    expect(request).toMatchObject({ kind: 'call', form: { description: marked('How large?') } })
    await thread.respond(request?.id ?? '', { result: { status: 'success', result: { size: 3 } } })
    await until('an answer', async () => bench.asked('tasks/update', order) > 0)
    expect(bench.answers.at(-1)).toEqual({ size: { action: 'accept', content: { size: 3 } } })
    bench.finish(order, marked('Large'))
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('Large') }])
  })

  test.each([
    ['stop', 'interrupted'],
    ['terminate', 'cancelled'],
  ] as const)('%s cancels the task of a call that waits for it', async (verb, outcome) => {
    const { thread, order } = await start(verb)
    await thread[verb]()
    await until('the end of the task', async () => bench.of(order).status === 'cancelled')
    await until('a result', async () => (await toolResults(thread)).length === 1)
    const facts = await factsOf(thread)
    expect(facts.flatMap((one) => (one.type === 'tool.result' ? [one.payload] : []))).toMatchObject([
      { outcome },
    ])
    const asked = bench.asked('tasks/get', order)
    await thread.waitUntilIdle().catch(() => undefined)
    expect(bench.asked('tasks/get', order)).toBe(asked)
  })
})
