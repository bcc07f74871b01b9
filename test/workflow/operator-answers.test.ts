import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { completeActivity, failActivity } from '../support/operate-activity.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

/** What an operator's `temporal activity complete --result` may say. */
const NO_ANSWERS = ['{}', 'null', '"done"', '[]', '5', '{ "type": "future" }', 'not json']

const call = { name: 'work', args: { task: marked('Work') } }

async function refusals(thread: ThreadHandle): Promise<number> {
  const facts = await factsOf(thread)
  return facts.filter(({ payload }) => 'code' in payload && payload.code === 'answer_refused').length
}

threeRuns((desk) => {
  desk.ofActivities(
    'T10 a tool call that is completed with no answer is unknown, and the thread goes on',
    async () => {
      const check = async (json: string): Promise<void> => {
        const gate = createGate()
        let runs = 0
        const work = async () => {
          runs += 1
          await gate.passed
          return { status: 'success', result: marked('late') } as const
        }
        const chat = [{ toolCalls: [call] }, { text: marked('Done') }]
        const { thread } = await desk.start({ chat, tools: { work } })
        await until('the tool', () => runs === 1)
        await completeActivity(thread.workflow, 'thread.executeTool', json)
        const { reply, status } = await thread.waitUntilIdle()
        gate.open()
        expect({ status, reply: reply?.content }, json).toEqual({ status: 'idle', reply: marked('Done') })
        const [result, ...others] = await toolResults(thread)
        expect(result?.content).toContain('The outcome of this call is unknown')
        expect([others, runs, await refusals(thread)]).toEqual([[], 1, 1])
      }
      await Promise.all(NO_ANSWERS.map(check))
    },
  )

  test('T10 a model call that is completed with no answer is made again', async () => {
    const check = async (json: string): Promise<void> => {
      const gate = createGate()
      let asked = 0
      const chat = async () => {
        asked += 1
        if (asked === 1) await gate.passed
        return { text: marked(`Answer ${asked}`) }
      }
      const { thread } = await desk.start({ chat })
      await until('the model', () => asked === 1)
      await completeActivity(thread.workflow, 'thread.callModel', json)
      const { reply, status } = await thread.waitUntilIdle()
      gate.open()
      expect({ status, reply: reply?.content }, json).toEqual({ status: 'idle', reply: marked('Answer 2') })
      expect(await transcript(thread)).toHaveLength(2)
      // It is stored behind the end of the run, which the answered call has stored.
      await until('the warning', async () => (await refusals(thread)) === 1)
    }
    await Promise.all(NO_ANSWERS.slice(-3).map(check))
  })

  desk.ofActivities('a tool call that an operator fails is unknown, and the run goes on', async () => {
    const gate = createGate()
    let runs = 0
    const work = async () => {
      runs += 1
      await gate.passed
      return { status: 'success', result: marked('late') } as const
    }
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [call] }, { text: marked('Done') }],
      tools: { work },
    })
    await until('the tool', () => runs === 1)
    await thread.send(marked('And then?'))
    await failActivity(thread.workflow, 'thread.executeTool')
    const { reply } = await thread.waitUntilIdle()
    gate.open()
    expect(reply?.content).toBe(marked('Done'))
    const [result, ...others] = await toolResults(thread)
    expect(result?.content).toContain('it was ended from outside before it answered')
    expect([others, runs, chat.requests.length]).toEqual([[], 1, 2])
    expect((await transcript(thread)).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'user', 'assistant'],
    ])
  })

  test('a message that came while a model call was failed starts the next run', async () => {
    const gate = createGate()
    let asked = 0
    const chat = async () => {
      asked += 1
      if (asked === 1) await gate.passed
      return { text: marked('Hi') }
    }
    const { thread } = await desk.start({ chat })
    await until('the model', () => asked === 1)
    await thread.send(marked('Are you there?'))
    await failActivity(thread.workflow, 'thread.callModel')
    const { reply } = await thread.waitUntilIdle()
    gate.open()
    expect(reply?.content).toBe(marked('Hi'))
    const contents = (await transcript(thread)).map(({ content }) => content)
    expect(contents).toContain(
      'The run was ended because its work was failed for good, by an operator or by a worker that cannot do it. ' +
        'Send a message to try again.',
    )
    expect(contents.slice(-1)).toEqual([marked('Hi')])
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', queue: [] })
  })
})
