import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { familyRuns } from '../support/family-runs.js'
import { activitiesAtOnce, activityEvents, activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const order = { name: 'pair', args: { task: marked('Write') } }
const draft = { text: marked('Draft') }
const approve = { toolCalls: [{ name: 'approve', args: { summary: marked('Good') } }] }

familyRuns((families) => {
  families.ofActivities('SA-R-00.1 one run shows all five duties of a runtime', async () => {
    const family = await families.start({
      voices: {
        planner: [{ toolCalls: [{ name: 'plan' }, order] }, { text: marked('Done') }],
        writer: [draft],
        editor: [approve],
      },
    })
    const { thread } = family
    const run = await thread.waitUntilIdle()
    // It assembles the context: the second request has what happened since the first.
    expect(family.requests('planner')[1]?.messages).toMatchObject([
      { role: 'user', text: marked('Hello') },
      { role: 'assistant', toolCalls: [{ name: 'plan' }, { name: 'pair' }] },
      { role: 'tool', toolResults: [{ text: marked('plan done') }, { text: marked('Good') }] },
    ])
    // It executes tools, in an activity each.
    const names = activityNames(await families.runs(thread.threadId))
    expect(names.slice(0, 2)).toEqual(['thread.callModel', 'thread.executeTool'])
    expect((await factTypes(thread)).filter((type) => type === 'tool.result')).toHaveLength(2)
    // It enforces stop conditions.
    expect(run).toMatchObject({ reason: 'stop_on_response', steps: 2 })
    expect(await factTypes(thread)).toContain('side.completed')
    // It persists state.
    expect((await transcript(thread)).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'tool', 'assistant'],
    ])
    expect((await thread.snapshot()).lastRun).toMatchObject({ reason: 'stop_on_response' })
    // It coordinates parent and child.
    const child = await family.child()
    expect(await child.snapshot()).toMatchObject({ parent: thread.threadId, status: 'completed' })
    expect((await thread.snapshot()).children).toMatchObject([{ reference: child.threadId }])
  })

  test('SA-R-13.4 SA-R-11.1 message, tool, effect and child never run at once', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        planner: (request) =>
          request.messages.length === 1
            ? { toolCalls: [{ name: 'plan' }, order] }
            : { text: marked('Understood') },
        writer: [async () => (await gate.passed, draft)],
        editor: [approve],
      },
      tools: {
        plan: async (state) => {
          // Due while the child works: the time-skipping server refuses a task that cancels a timer which just fired.
          await state.scheduleEffect('remind', { note: marked('It is time') }, 3_000)
          return { status: 'success' }
        },
      },
    })
    const { thread } = family
    await until('the request of the child', () => family.requests('writer').length === 1)
    await Promise.all([
      thread.send(marked('A question')),
      thread.queueTool('search', { query: marked('sources') }),
    ])
    const waiting = async () => (await thread.snapshot()).queue.map(({ kind }) => kind).toSorted()
    await until('three items', async () => (await waiting()).length === 3)
    expect(await waiting()).toEqual(['effect', 'message', 'tool'])
    gate.open()
    const asked = () => family.requests('planner').at(-1)?.messages ?? []
    await until('the last item', () => asked().some(({ text }) => text === marked('It is time')))
    await thread.waitUntilIdle()
    const runs = await families.runs(thread.threadId)
    expect(activityEvents(runs).length).toBeGreaterThan(10)
    expect(activitiesAtOnce(runs)).toBe(1)
    expect((await toolResults(thread)).map(({ name }) => name)).toEqual(['plan', 'pair', 'search'])
    for (const text of ['A question', 'It is time'])
      expect(asked().filter((message) => message.text === marked(text))).toHaveLength(1)
  })
})
