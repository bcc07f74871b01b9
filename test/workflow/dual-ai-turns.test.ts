import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { familyRuns } from '../support/family-runs.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'

const approve = { name: 'approve', args: { summary: marked('Good') } }
const giveUp = { name: 'give_up', args: { reason: marked('Bad') } }
const handOver = { name: 'hand_over' }
const search = { name: 'search', args: { query: marked('sources') } }

/** Which side ended its turn, and why. */
async function turns(thread: ThreadHandle): Promise<readonly (readonly [unknown, unknown])[]> {
  return (await factsOf(thread)).flatMap(({ type, payload }) =>
    type === 'side.completed' ? [[payload.side, payload.reason] as const] : [],
  )
}

familyRuns(
  (families) => {
    test('SA-A-03.3 a text ends the turn unless stopOnResponse is false', async () => {
      const family = await families.start({
        agent: 'tool_pair',
        voices: {
          writer: [{ text: marked('Thinking aloud') }, { toolCalls: [handOver] }, { toolCalls: [giveUp] }],
          editor: [{ text: marked('Go on') }],
        },
      })
      await family.thread.waitUntilIdle()
      expect(await turns(family.thread)).toEqual([
        ['a', 'stop_tool'],
        ['b', 'stop_on_response'],
        ['a', 'session_fail'],
      ])
      // The text is stored, and the same side is asked again.
      expect((await transcript(family.thread))[1]).toMatchObject({ content: marked('Thinking aloud') })
      expect(family.requests('writer')).toHaveLength(3)
      expect(family.requests('editor')).toHaveLength(1)
    })

    test('SA-A-03.4 SA-R-06.2 a stop tool ends the turn although there is text', async () => {
      const family = await families.start({
        agent: 'tool_pair',
        voices: {
          writer: [{ text: marked('Over to you'), toolCalls: [handOver, search] }],
          editor: [{ text: marked('And I'), toolCalls: [handOver, approve] }],
        },
      })
      await family.thread.waitUntilIdle()
      expect((await turns(family.thread))[0]).toEqual(['a', 'stop_tool'])
      expect(family.requests('editor')).toHaveLength(1)
      // The tool still ran, and what was called beside it.
      expect((await toolResults(family.thread)).slice(0, 2)).toMatchObject([
        { name: 'hand_over', content: marked('hand_over done') },
        { name: 'search', content: marked('search done') },
      ])
    })

    test('SA-R-06.1 SA-A-05.1 a session stop wins over a stop tool and text', async () => {
      const family = await families.start({
        agent: 'tool_pair',
        voices: {
          writer: [{ toolCalls: [handOver] }],
          editor: [{ text: marked('Done'), toolCalls: [handOver, approve] }],
        },
      })
      const run = await family.thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'session_stop', session: { outcome: 'success' } })
      expect((await turns(family.thread)).at(-1)).toEqual(['b', 'session_stop'])
    })

    test('a session fail wins over a session stop', async () => {
      const family = await families.start({
        agent: 'tool_pair',
        voices: {
          writer: [{ toolCalls: [handOver] }],
          editor: [{ toolCalls: [approve, giveUp] }],
        },
      })
      const run = await family.thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'session_fail', session: { outcome: 'failure' } })
      expect((await toolResults(family.thread)).map(({ name }) => name)).toContain('approve')
    })

    test('SA-R-06.3 SA-A-05.1 a response at the step limit ends as response', async () => {
      const family = await families.start({
        agent: 'capped_pair',
        voices: {
          writer: [{ toolCalls: [search] }, { text: marked('Draft') }],
          editor: [{ toolCalls: [approve] }],
        },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'session_stop', steps: 3 })
      expect((await turns(family.thread))[0]).toEqual(['a', 'stop_on_response'])
    })

    test('SA-A-03.6 maxSteps of side A limits side A only', async () => {
      const note = { toolCalls: [{ name: 'note', args: { text: marked('More') } }] }
      const family = await families.start({
        agent: 'capped_pair',
        voices: {
          writer: () => ({ text: marked('Draft') }),
          editor: [note, note, note, { text: marked('Again') }, { text: marked('And again') }],
        },
      })
      const run = await family.thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'max_steps', session: null })
      expect(family.requests('writer')).toHaveLength(2)
      expect(family.requests('editor')).toHaveLength(5)
    })

    test('SA-A-03.6 an endless side halts in the midst of its turn', async () => {
      const family = await families.start({
        agent: 'capped_pair',
        voices: { writer: () => ({ toolCalls: [search] }), editor: [] },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'max_steps', steps: 2 })
      expect(family.requests('writer')).toHaveLength(2)
    })

    test('SA-A-01.2c SA-A-05.1 maxSessionTurns 3 allows exactly three turns', async () => {
      const family = await families.start({
        agent: 'short_pair',
        voices: { writer: () => ({ text: marked('Ping') }), editor: () => ({ text: marked('Pong') }) },
      })
      const run = await family.thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', reason: 'max_session_turns', steps: 3 })
      expect((await turns(family.thread)).map(([side]) => side)).toEqual(['a', 'b', 'a'])
    })

    test('SA-A-01.2c SA-A-05.1 without maxSessionTurns only the hard cap ends it', async () => {
      const family = await families.start({
        agent: 'endless_pair',
        voices: { writer: () => ({ text: marked('Ping') }), editor: () => ({ text: marked('Pong') }) },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'hard_cap', steps: 6 })
      expect((await transcript(family.thread)).at(-1)).toMatchObject({ status: 'failed' })
    })

    test('SA-A-03.2 events of a turn carry the label of its side', async () => {
      const family = await families.start({
        agent: 'pair',
        voices: { writer: [{ text: marked('Draft') }], editor: [{ toolCalls: [approve] }] },
      })
      await family.thread.waitUntilIdle()
      const started = (await factsOf(family.thread)).filter(({ type }) => type === 'side.started')
      expect(started.map(({ payload }) => payload)).toMatchObject([
        { side: 'a', label: 'Writer' },
        { side: 'b', label: 'Editor' },
      ])
    })

    test('a failing session tool does not end the session', async () => {
      const family = await families.start({
        agent: 'pair',
        voices: {
          writer: [{ text: marked('Draft') }, { text: marked('Final') }],
          editor: [
            { text: marked('I approve'), toolCalls: [{ name: 'approve', args: { sum: 1 } }] },
            { text: marked('Not yet') },
            { toolCalls: [approve] },
          ],
        },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'session_stop', steps: 5 })
      // The stop tests below it were skipped for that step: the editor kept its turn.
      expect((await turns(family.thread)).map(([side]) => side)).toEqual(['a', 'b', 'a', 'b'])
      expect((await toolResults(family.thread))[0]).toMatchObject({ tool_status: 'error' })
    })

    test('SA-A-04.2 a session tool of one side is ordinary on the other', async () => {
      const family = await families.start({
        agent: 'pair',
        voices: {
          writer: [{ toolCalls: [approve] }, { text: marked('Draft') }],
          editor: [
            { toolCalls: [{ name: 'note', args: { text: marked('fine') } }, giveUp] },
            { toolCalls: [approve] },
          ],
        },
      })
      const run = await family.thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'session_stop', steps: 4 })
      expect(run.session).toMatchObject({ outcome: 'success', message: marked('Good') })
    })

    test('a root session stays open, and a message starts the next', async () => {
      const family = await families.start({
        agent: 'pair',
        voices: {
          writer: [{ text: marked('Draft') }, { text: marked('Another') }],
          editor: [{ toolCalls: [approve] }, { text: marked('Hm') }, { toolCalls: [approve] }],
        },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_1' })
      // Side A's words: side B answers first.
      await family.thread.send({ content: marked('What of this?'), role: 'assistant' })
      const next = await family.thread.waitUntilIdle()
      expect(next).toMatchObject({ status: 'idle', runId: 'run_2', reason: 'session_stop' })
      expect((await turns(family.thread)).map(([side]) => side)).toEqual(['a', 'b', 'b', 'a', 'b'])
    })
  },
  { limits: { sessionTurns: 6 } },
)
