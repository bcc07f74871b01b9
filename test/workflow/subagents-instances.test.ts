import { expect, test } from 'vitest'

import type { ScriptedRequest } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { kindsRuns } from '../support/family-runs.js'
import { activityNames } from '../support/histories.js'
import { approve, calls, create, done, draft, order, write } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const toolNames = ({ tools }: ScriptedRequest): readonly string[] => tools.map(({ name }) => name)

kindsRuns(
  (families) => {
    test('SA-R-07.2b SA-A-07.7d one instance too many is refused with a way out', async () => {
      const family = await families.start({
        voices: {
          lead: [calls(create('resident', 'Ada')), calls(create('resident', 'Bob')), done],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      await family.thread.waitUntilIdle()
      const child = await family.child()
      const [, refused] = await toolResults(family.thread)
      expect(refused).toMatchObject({ name: 'subagent_create', tool_status: 'error' })
      for (const words of ['at most 1 open instance', 'subagent_message', child.threadId])
        expect(refused?.content).toContain(words)
      expect(await family.children()).toHaveLength(1)
      const started = (await families.runs(family.thread.threadId)).flatMap(({ history }) =>
        (history.events ?? []).filter(
          (event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null,
        ),
      )
      expect(started).toHaveLength(1)
      expect(family.requests('lead')).toHaveLength(3)
    })

    test('an instance that ended makes room for another one', async () => {
      const family = await families.start({
        voices: {
          lead: [calls(create('resident', 'Ada')), done, calls(create('resident', 'Bob')), done],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      await family.thread.waitUntilIdle()
      await (await family.child()).terminate()
      await until(
        'the end in the registry',
        async () => (await family.thread.snapshot()).children[0]?.status === 'terminated',
      )
      await family.thread.send(marked('Another one'))
      await family.thread.waitUntilIdle()
      expect((await family.thread.snapshot()).children).toMatchObject([
        { threadName: 'Ada', status: 'terminated' },
        { threadName: 'Bob', status: 'completed' },
      ])
    })

    test.each([
      { what: 'no name', fields: { name: undefined } },
      { what: 'an empty name', fields: { name: '' } },
      { what: 'a blank name', fields: { name: ' \n ' } },
    ])('SA-A-07.7b an instance with $what is not created', async ({ fields }) => {
      const family = await families.start({
        voices: { lead: [calls(create('resident', 'Ada', fields)), done] },
      })
      await family.thread.waitUntilIdle()
      const [refused] = await toolResults(family.thread)
      expect(refused).toMatchObject({ tool_status: 'error' })
      expect(refused?.content).toContain('"name"')
      expect(await family.children()).toEqual([])
      const tool = family.requests('lead')[0]?.tools.find(({ name }) => name === 'subagent_create')
      expect(tool?.inputSchema).toMatchObject({ required: expect.arrayContaining(['name']) })
    })

    test('SA-R-07.2a SA-R-07.3a SA-A-07.5b tools of subagents come and go with their flags', async () => {
      const family = await families.start({
        agent: 'switched',
        message: null,
        voices: {
          switched: [
            calls(create('keeper'), order('errand')),
            done,
            calls(create('keeper')),
            done,
            calls(write('nobody', 'Hello'), order('errand'), create('keeper')),
            done,
          ],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      const { thread } = family
      const say = async (text: string): Promise<void> => {
        await thread.send(marked(text))
        await thread.waitUntilIdle()
      }
      await say('Off')
      expect(toolNames(family.requests('switched')[0] ?? never())).toEqual([])
      expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }, { tool_status: 'error' }])
      expect(await family.children()).toEqual([])
      await thread.setEnv({ WITH_KEEPER: 'Yes', WITH_ERRAND: 'no' })
      await say('On')
      expect(toolNames(family.requests('switched')[2] ?? never())).toEqual([
        'subagent_create',
        'subagent_message',
      ])
      expect(await family.children()).toHaveLength(1)
      await thread.setEnv({ WITH_KEEPER: 'off', WITH_ERRAND: 'TRUE' })
      await say('The other way')
      expect(toolNames(family.requests('switched')[4] ?? never())).toEqual(['errand'])
      expect((await toolResults(thread)).slice(3)).toMatchObject([
        { name: 'subagent_message', tool_status: 'error' },
        { name: 'errand', tool_status: 'success', content: marked('Good') },
        { name: 'subagent_create', tool_status: 'error' },
      ])
      expect((await thread.snapshot()).children.map(({ name }) => name)).toEqual(['keeper', 'errand'])
    })

    test('an instance whose flag is off takes no message', async () => {
      const family = await families.start({
        agent: 'switched',
        message: null,
        voices: {
          switched: [
            calls(create('keeper')),
            done,
            async () => calls(write((await family.child()).threadId, 'Still there?')),
            done,
          ],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      const { thread } = family
      await thread.setEnv({ WITH_KEEPER: '1' })
      await thread.send(marked('On'))
      await thread.waitUntilIdle()
      await thread.setEnv({ WITH_KEEPER: '' })
      await thread.send(marked('Off'))
      await thread.waitUntilIdle()
      expect((await toolResults(thread))[1]).toMatchObject({ name: 'subagent_message', tool_status: 'error' })
      expect(family.requests('worker')).toHaveLength(1)
    })

    test('SA-R-07.1b the registry outlives the worker', async () => {
      const gate = createGate()
      const family = await families.start({
        voices: {
          lead: [
            calls(create('boarder', 'Ada')),
            done,
            done,
            async () => calls(write((await family.child()).threadId, 'Second')),
            () => done,
            () => done,
          ],
          worker: async () => (await gate.passed, draft),
          judge: () => approve(),
        },
      })
      const { thread } = family
      const { threadId } = await family.child()
      await thread.waitUntilIdle()
      await until('the request of the child', () => family.requests('worker').length === 1)
      const entry = { reference: threadId, name: 'boarder', threadName: 'Ada', resumable: true }
      await families.env.restartWorker()
      expect((await thread.snapshot()).children).toMatchObject([{ ...entry, status: 'running' }])
      gate.open()
      await until('the report', () => family.requests('lead').length === 3)
      await thread.waitUntilIdle()
      await families.env.restartWorker()
      await thread.send(marked('Once more'))
      await until('the second report', () => family.requests('judge').length === 2)
      await thread.waitUntilIdle()
      await until(
        'the second result',
        async () => (await thread.snapshot()).children[0]?.status === 'completed',
      )
      expect((await thread.snapshot()).children).toMatchObject([entry])
      const names = activityNames(await families.runs(thread.threadId))
      expect(names.filter((name) => name === 'thread.prepareChild')).toHaveLength(1)
    })
  },
  { restarts: true },
)

function never(): never {
  throw new Error('Expected a request.')
}
