import { expect, test } from 'vitest'

import { takeOperation } from '../../src/store/operations.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { failActivity } from '../support/operate-activity.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'
import { noted } from '../support/workflow-desk.js'

const work = { name: 'work', args: { task: marked('schedule') } }
const HOUR = 3_600_000

threeRuns((desk) => {
  test('SA-R-02.4 an effect wakes its idle thread in its time', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Set') }, { text: marked('It is time') }],
      tools: {
        work: async (state) => {
          // On a busy machine the turn is over by then too: one that is due before is drained by the same run.
          await state.scheduleEffect('remind', { note: marked('Soon') }, 2_000)
          return { status: 'success' }
        },
      },
    })
    await until(
      'the second run',
      async () => (await factTypes(thread)).filter((type) => type === 'run.completed').length === 2,
    )
    expect((await transcript(thread)).at(-1)?.content).toBe(marked('It is time'))
    expect(await factTypes(thread)).toContain('effect.completed')
  })

  test('T3 an effect that fails for good is told as failed', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Set') }, { text: marked('Still here') }],
      tools: {
        work: async (state) => {
          const id = await state.scheduleEffect('note', {}, 300)
          // Another attempt holds it, and never ends.
          const taken = { threadId: state.threadId, id, attempt: 99, state: 'started' } as const
          noted.set(state.threadId, async () => {
            await desk.env.store.write((tx) => takeOperation(tx, taken))
          })
          return { status: 'success' }
        },
      },
    })
    await until('the failure', async () => (await factTypes(thread)).includes('effect.failed'))
    // On a busy machine the effect is due before the step that scheduled it has ended.
    await thread.waitUntilIdle()
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', effects: [] })
    await thread.send(marked('Are you there?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Still here'))
    const types = await factTypes(thread)
    expect(types.filter((type) => type.startsWith('effect.'))).toEqual(['effect.scheduled', 'effect.failed'])
  })

  test('facts that an activity stored before it failed for good are stored once', async () => {
    const [began, gate] = [createGate(), createGate()]
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Set') }],
      tools: {
        work: async (state) => {
          noted.set(state.threadId, async () => {
            began.open()
            await gate.passed
          })
          // Due before the step ends, so its activity stores the step's last phases.
          await state.scheduleEffect('note', {})
          return { status: 'success' }
        },
      },
    })
    await began.passed
    await failActivity(thread.workflow, 'thread.runEffect')
    gate.open()
    await thread.waitUntilIdle()
    const phases = (await factsOf(thread)).flatMap((fact) =>
      fact.type === 'step.phase' ? [[fact.stepId, fact.payload.phase]] : [],
    )
    expect(phases).toEqual(
      ['step_1_1', 'step_1_2'].flatMap((step) => [1, 2, 3, 4, 5, 6, 7].map((phase) => [step, phase])),
    )
  })

  test('T3 a tool that an effect queues while its run is stopped runs once the thread goes on', async () => {
    const [began, gate] = [createGate(), createGate()]
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Done') }],
      tools: {
        work: async (state) => {
          noted.set(state.threadId, async (ofEffect) => {
            began.open()
            await gate.passed
            ofEffect.queueTool('other', { task: marked('later') })
          })
          await state.scheduleEffect('note', {})
          return { status: 'success' }
        },
        other: async () => ({ status: 'success', result: marked('Late') }),
      },
    })
    await began.passed
    await thread.stop()
    gate.open()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
    await thread.continue()
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ content }) => content)).toContain(marked('Late'))
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', queue: [] })
  })

  desk.skippingTime('SA-R-02.4 a due effect runs and wakes its thread', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Set') }, { text: marked('It is time') }],
      tools: {
        work: async (state) => {
          await state.scheduleEffect('remind', { note: marked('Water the plants') }, HOUR)
          return { status: 'success' }
        },
      },
    })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Set'))
    expect((await thread.snapshot()).effects).toMatchObject([{ name: 'remind' }])
    await desk.env.sleep('30 minutes')
    expect((await thread.snapshot()).effects).toHaveLength(1)
    await desk.env.sleep('31 minutes')
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('It is time'))
    expect((await thread.snapshot()).effects).toEqual([])
    const types = await factTypes(thread)
    expect(types).toContain('effect.scheduled')
    expect(types).toContain('effect.completed')
  })

  desk.skippingTime('an effect is due after months of idleness', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Set') }, { text: marked('Half a year') }],
      tools: {
        work: async (state) => {
          await state.scheduleEffect('remind', { note: marked('Renew') }, 180 * 24 * HOUR)
          return { status: 'success' }
        },
      },
    })
    await thread.waitUntilIdle()
    await desk.env.sleep('181 days')
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Half a year'))
  })

  desk.skippingTime('a removed effect never runs', async () => {
    const listed: number[] = []
    const { thread } = await desk.start({
      chat: [
        { toolCalls: [work] },
        { text: marked('Set') },
        { toolCalls: [{ ...work, name: 'other' }] },
        { text: marked('Gone') },
      ],
      tools: {
        work: async (state) => {
          await state.scheduleEffect('remind', { note: marked('Never') }, HOUR)
          return { status: 'success' }
        },
        other: async (state) => {
          const effects = await state.getScheduledEffects('remind')
          listed.push(effects.length)
          for (const { id } of effects) await state.removeScheduledEffect(id)
          listed.push((await state.getScheduledEffects()).length)
          return { status: 'success' }
        },
      },
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Forget it'))
    await thread.waitUntilIdle()
    expect(listed).toEqual([1, 0])
    await desk.env.sleep('2 hours')
    await thread.waitUntilIdle()
    expect((await transcript(thread)).at(-1)?.content).toBe(marked('Gone'))
    expect(await factTypes(thread)).toContain('effect.removed')
  })

  desk.skippingTime('effects of a tool that failed its call are kept', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Sorry') }, { text: marked('Reminded') }],
      tools: {
        work: async (state) => {
          await state.scheduleEffect('remind', { note: marked('Before the throw') }, HOUR)
          throw new Error(marked('thrown'))
        },
      },
    })
    await thread.waitUntilIdle()
    await desk.env.sleep('61 minutes')
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Reminded'))
  })

  desk.skippingTime('an effect due while stopped waits for the user', async () => {
    const { thread, chat } = await desk.start({
      chat: [
        { toolCalls: [work] },
        { text: marked('Set') },
        { text: marked('Never said'), delay: 60_000 },
        { text: marked('All at once') },
      ],
      tools: {
        work: async (state) => {
          await state.scheduleEffect('remind', { note: marked('Parked') }, HOUR)
          return { status: 'success' }
        },
      },
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Something long'))
    // Not before: a stop that meets the end of an activity blocks a thread on this server (temporalio/sdk-java#2391).
    await until('the third request', () => chat.requests.length === 3)
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    await desk.env.sleep('2 hours')
    expect(await thread.snapshot()).toMatchObject({
      status: 'stopped',
      queue: [{ kind: 'effect' }],
    })
    expect(await factTypes(thread)).not.toContain('effect.completed')
    await thread.send(marked('Go on'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('All at once'))
    expect(await factTypes(thread)).toContain('effect.completed')
    const contents = (await transcript(thread)).map(({ content }) => content)
    expect(contents.filter((content) => content === marked('Go on'))).toHaveLength(1)
  })
})
