import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { activitiesAtOnce, activityEvents } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

threeRuns((desk) => {
  test('SA-R-13.1 SA-R-13.4 SA-R-01.1 five messages at once never run two activities', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: (request) =>
        request.messages.length === 1
          ? gate.passed.then(() => ({ toolCalls: [{ name: 'work', args: { task: marked('a') } }] }))
          : { text: marked('Read') },
    })
    await until('a request', () => chat.requests.length === 1)
    await Promise.all([1, 2, 3, 4, 5].map((number) => thread.send(marked(`Nr ${number}`))))
    gate.open()
    await thread.waitUntilIdle()
    const runs = await desk.runs(thread.threadId)
    expect(activityEvents(runs).length).toBeGreaterThanOrEqual(4)
    expect(activitiesAtOnce(runs)).toBe(1)
  })

  desk.ofActivities(
    'SA-R-13.1 SA-R-05.1 SA-R-03.5 AR-TC.10 the tools of one answer run one after another',
    async () => {
      const running: string[] = []
      const step = (name: string, wait?: Promise<void>) => async () => {
        running.push(`${name} starts`)
        await wait
        running.push(`${name} ends`)
        return { status: 'success' as const, result: marked(name) }
      }
      const gate = createGate()
      const { thread } = await desk.start({
        chat: [
          { toolCalls: ['work', 'other', 'third'].map((name) => ({ name, args: { task: marked(name) } })) },
          { text: marked('Done') },
        ],
        tools: { work: step('work', gate.passed), other: step('other'), third: step('third') },
      })
      await until('the slow tool', () => running.length === 1)
      gate.open()
      await thread.waitUntilIdle()
      expect(running).toEqual(
        ['work', 'other', 'third'].flatMap((name) => [`${name} starts`, `${name} ends`]),
      )
      const tools = activityEvents(await desk.runs(thread.threadId)).filter(
        ({ activity }) => activity === 'thread.executeTool',
      )
      expect(tools.map(({ kind }) => kind)).toEqual([
        'scheduled',
        'ended',
        'scheduled',
        'ended',
        'scheduled',
        'ended',
      ])
    },
  )

  test('SA-R-11.2 two threads call their models at the same time', async () => {
    const gate = createGate()
    const slow = async (): Promise<{ text: string }> => (await gate.passed, { text: marked('Hi') })
    const [left, right] = await Promise.all([desk.start({ chat: [slow] }), desk.start({ chat: [slow] })])
    await until('both to be asked', () => left.chat.requests.length + right.chat.requests.length === 2)
    gate.open()
    const ended = await Promise.all([left.thread.waitUntilIdle(), right.thread.waitUntilIdle()])
    expect(ended.map(({ reason }) => reason)).toEqual(['stop_on_response', 'stop_on_response'])
  })
})
