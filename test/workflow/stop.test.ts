import { expect, test } from 'vitest'

import { assertEvents } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })

threeRuns((desk) => {
  test('SA-R-12.4 AR-TC.11 PL-CX.6 a stop during a tool interrupts every open call', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [call('work'), call('other')] }, { text: marked('Went on') }],
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.stop()
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ status: 'stopped', reason: 'stopped' })
    expect(await toolResults(thread)).toMatchObject([
      { name: 'work', tool_status: 'error' },
      { name: 'other', tool_status: 'error' },
    ])
    await assertEvents(thread, ['tool.started', 'run.cancelled'])
    expect(chat.requests).toHaveLength(1)
    await thread.continue()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(chat.requests[1]?.messages.at(-1)?.toolResults).toMatchObject([
      { isError: true },
      { isError: true },
    ])
  })

  test('AR-CC.1 a stop and a continue that are repeated later, from another process, touch no later run', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Went on') }, { text: marked('Later') }],
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.once('stop').stop()
    await thread.waitUntilIdle()
    await thread.once('go').continue()
    await thread.waitUntilIdle()
    await thread.once('stop').stop()
    await thread.once('go').continue()
    await thread.once('go').continue()
    await thread.send(marked('Next'))
    expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_3', reason: 'stop_on_response' })
    expect(chat.requests).toHaveLength(3)
  })

  test('a stop during a model call keeps its partial text', async () => {
    const words = Array.from({ length: 200 }, () => 'word').join(' ')
    const { thread } = await desk.start({
      chat: [{ text: marked(words), wordDelay: 50 }, { text: marked('Next') }],
    })
    for await (const event of thread.events()) if (event.type === 'model.delta') break
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    const [, partial] = await transcript(thread)
    expect(partial).toMatchObject({ role: 'assistant', status: 'interrupted' })
    expect(partial?.content).toMatch(/^word/)
    expect(partial?.content).not.toContain(marked(''))
    await thread.send(marked('Again'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Next'))
  })

  test('K-2 PL-CX.6 a run never ends with its model call open', async () => {
    const { thread, chat } = await desk.start({ chat: [() => new Promise(() => undefined)] })
    await until('a request', () => chat.requests.length === 1)
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    const types = await factTypes(thread)
    const calls = types.filter((type) => type.startsWith('model.') || type.startsWith('run.'))
    expect(calls).toEqual(['run.started', 'model.requested', 'model.failed', 'run.cancelled'])
    expect(types.indexOf('step.completed')).toBeGreaterThan(types.indexOf('model.failed'))
    expect((await thread.snapshot()).run).toBeNull()
  })

  test('K-10 what comes after a stop waits, and nothing is scheduled', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Went on') }],
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.stop()
    await thread.waitUntilIdle()
    const before = activityNames(await desk.runs(thread.threadId))
    const [queued, statuses] = [[1, 2, 3], new Set<string>()]
    for (const number of queued) {
      await thread.queueTool('other', { task: marked(`${number}`) })
      await until('the item', async () => (await thread.snapshot()).queue.length === number)
      statuses.add((await thread.snapshot()).status)
    }
    expect([...statuses]).toEqual(['stopped'])
    const runs = await desk.runs(thread.threadId)
    expect(activityNames(runs)).toEqual(before)
    const timers = runs.flatMap(({ history }) =>
      (history.events ?? []).filter(({ timerStartedEventAttributes: timer }) => timer != null),
    )
    expect(timers).toEqual([])
    await thread.continue()
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ name }) => name)).toEqual([
      'work',
      ...queued.map(() => 'other'),
    ])
    expect(chat.requests.length).toBeGreaterThan(1)
  })

  test('AR-CP.3 items wait behind the stop flag until continue', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: (request) =>
        request.messages.length === 1
          ? gate.passed.then(() => ({ text: marked('Cut') }))
          : { text: marked('Read') },
    })
    await until('a request', () => chat.requests.length === 1)
    for (const text of ['One', 'Two']) await thread.send(marked(text))
    await thread.stop()
    const run = await thread.waitUntilIdle()
    expect(run.status).toBe('stopped')
    expect((await thread.snapshot()).queue).toHaveLength(2)
    gate.open()
    await thread.continue()
    await thread.waitUntilIdle()
    const users = chat.requests.at(-1)?.messages.filter(({ role }) => role === 'user')
    expect(users?.map(({ text }) => text)).toEqual([marked('Hello'), marked('One'), marked('Two')])
  })

  test('a user message clears the stop flag', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Back') }],
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.stop()
    await thread.waitUntilIdle()
    await thread.send(marked('Never mind'))
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
  })

  test('a stop of an idle thread changes nothing', async () => {
    const { thread } = await desk.start({ chat: () => ({ text: marked('Hi') }) })
    await thread.waitUntilIdle()
    await thread.stop()
    await thread.stop({ runId: 'run_1' })
    await thread.send(marked('Still there?'))
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_2' })
  })
})
