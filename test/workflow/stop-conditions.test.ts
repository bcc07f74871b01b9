import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const work = { name: 'work', args: { task: marked('count') } }
const finish = { name: 'finish' }
const close = { name: 'close_case', args: { summary: marked('Solved') } }
const giveUp = { name: 'give_up', args: { reason: marked('No way') } }

threeRuns(
  (desk) => {
    test('SA-R-13.2 SA-R-06.1 a session stop wins over a stop tool', async () => {
      const { thread, chat } = await desk.start({ agent: 'closer', chat: [{ toolCalls: [finish, close] }] })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'session_stop', steps: 1 })
      expect(await toolResults(thread)).toHaveLength(2)
      expect(chat.requests).toHaveLength(1)
    })

    test('SA-R-13.2 SA-R-06.1 a session failure wins over a session stop', async () => {
      const { thread } = await desk.start({ agent: 'closer', chat: [{ toolCalls: [close, giveUp, finish] }] })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'session_fail' })
      expect(run.session).toMatchObject({ outcome: 'failure', message: marked('No way') })
    })

    test('SA-R-13.2 SA-R-06.1 a failed lifecycle tool does not end the session', async () => {
      const { thread, chat } = await desk.start({
        agent: 'closer',
        chat: [{ toolCalls: [{ name: 'close_case', args: {} }] }, { text: marked('Then so') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
      expect(chat.requests).toHaveLength(2)
    })

    test('SA-R-13.2 SA-R-06.2 a stop tool wins over a response', async () => {
      const { thread } = await desk.start({
        agent: 'closer',
        chat: [{ text: marked('That is all'), toolCalls: [finish] }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_tool', steps: 1 })
    })

    test('SA-R-13.2 SA-R-06.3 a response on the last allowed step is a response', async () => {
      const { thread } = await desk.start({
        agent: 'capped',
        chat: [{ toolCalls: [work] }, { toolCalls: [work] }, { text: marked('Just in time') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 3 })
    })

    test('SA-R-13.2 SA-R-01.3 SA-R-06.4 an endless script ends at maxSteps', async () => {
      const { thread, chat } = await desk.start({ agent: 'capped', chat: () => ({ toolCalls: [work] }) })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'max_steps', steps: 3, status: 'idle' })
      expect(chat.requests).toHaveLength(3)
      expect((await factsOf(thread)).at(-1)).toMatchObject({
        type: 'run.failed',
        payload: { reason: 'max_steps' },
      })
    })

    test('SA-R-13.2 SA-R-01.3 SA-R-06.4 an endless script ends at the hard cap', async () => {
      const { thread, chat } = await desk.start({ chat: () => ({ toolCalls: [work] }) })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'hard_cap', steps: 5 })
      expect(chat.requests).toHaveLength(5)
    })

    test('SA-R-13.2 SA-R-06.4 the same tool error again and again ends the run', async () => {
      const { thread, chat } = await desk.start({
        chat: () => ({ toolCalls: [work] }),
        tools: { work: () => ({ status: 'error', error: marked('No') }) },
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'repeated_tool_error', status: 'idle' })
      expect(chat.requests).toHaveLength(3)
    })

    test('SA-R-12.5 why a run ended is said to people, not to models', async () => {
      const { thread, chat } = await desk.start({ chat: () => ({ toolCalls: [work] }) })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'hard_cap' })
      const last = (await transcript(thread)).at(-1)
      const metadata = { status_kind: 'run_ended', reason: 'hard_cap' }
      expect(last).toMatchObject({ role: 'assistant', silent: false, status: 'failed', metadata })
      await thread.send(marked('Go on'))
      await thread.waitUntilIdle()
      const asked = JSON.stringify(chat.requests.map(({ raw }) => raw.prompt))
      expect(asked).toContain(marked('Go on'))
      expect(asked).not.toContain('The run was ended')
    })

    test('counters start anew with each run', async () => {
      const { thread } = await desk.start({ agent: 'capped', chat: () => ({ toolCalls: [work] }) })
      await thread.waitUntilIdle()
      await thread.send(marked('Go on'))
      expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_2', reason: 'max_steps', steps: 3 })
    })

    test('SA-A-03.5 the property of a stop tool is the outcome of its turn', async () => {
      const { thread, chat } = await desk.start({
        agent: 'teller',
        chat: [{ text: marked('Let me see'), toolCalls: [close] }, { text: marked('Anything else?') }],
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'stop_tool', steps: 1, session: null })
      expect(run.reply).toMatchObject({ role: 'assistant', content: marked('Solved') })
      await thread.send(marked('Thanks'))
      await thread.waitUntilIdle()
      expect(chat.requests[1]?.messages.at(-2)).toMatchObject({ role: 'assistant', text: marked('Solved') })
    })

    test('SA-A-03.9 a status tool shows its text in the snapshot and an event', async () => {
      const status = { name: 'third', args: { task: marked('Half done') } }
      const { thread, chat } = await desk.start({
        agent: 'closer',
        chat: [{ toolCalls: [status] }, { toolCalls: [status, close] }],
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'session_stop', steps: 2 })
      expect(run.session).toMatchObject({ message: marked('Solved') })
      expect(await toolResults(thread)).toMatchObject([
        { name: 'third', tool_status: 'success' },
        { name: 'third', tool_status: 'success' },
        { name: 'close_case', tool_status: 'success' },
      ])
      expect(chat.requests).toHaveLength(2)
      expect((await thread.snapshot()).statusText).toBe(marked('Half done'))
      const told = (await factsOf(thread)).filter(({ type }) => type.endsWith('.status'))
      expect(told).toMatchObject([
        { type: 'thread.status', payload: { status: marked('Half done') } },
        { type: 'thread.status', payload: { status: marked('Half done') } },
      ])
    })

    test('P4 an answer that is cut off says so everywhere', async () => {
      const { thread, chat } = await desk.start({
        chat: [{ text: marked('One, two,'), endedBy: 'length' }, { text: marked(' three.') }],
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', reason: 'answer_cut', steps: 1 })
      expect(run.reply).toMatchObject({ status: 'completed', finish_reason: 'length' })
      const facts = await factsOf(thread)
      expect(facts.find(({ type }) => type === 'run.completed')?.payload).toMatchObject({
        reason: 'answer_cut',
      })
      expect(facts.find(({ type }) => type === 'model.completed')?.payload).toMatchObject({
        finishReason: 'length',
      })
      // Whoever wants the rest asks for it.
      await thread.continue()
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      expect((await transcript(thread)).map((row) => row.finish_reason)).toEqual([null, 'length', 'stop'])
      expect(chat.requests[1]?.messages.at(-1)?.text).toMatch(/^Your answer was cut off/)
    })

    test('P4 the rest of an answer is asked for as often as the prompt says', async () => {
      const cut = (text: string) => ({ text: marked(text), endedBy: 'length' }) as const
      const { thread, chat } = await desk.start({
        agent: 'courier',
        chat: [cut('One,'), cut(' two,'), { text: marked('Never asked.') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'answer_cut', steps: 2 })
      expect(chat.requests).toHaveLength(2)
      expect(chat.requests[1]?.messages.slice(-2)).toMatchObject([
        { role: 'assistant', text: marked('One,') },
        { role: 'user', text: expect.stringMatching(/^Your answer was cut off/) },
      ])
    })

    test('P4 a call that is cut off is named so in its result', async () => {
      const cut = { name: 'work', args: `{"task":"${marked('count')}` }
      const { thread } = await desk.start({
        chat: [{ toolCalls: [cut], endedBy: 'length' }, { text: marked('Shorter, then.') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
      expect((await toolResults(thread))[0]?.content).toMatch(
        /^Error: The arguments of this call were cut off/,
      )
    })

    test('P4 an answer cut before its first word is asked for again by name', async () => {
      const { thread } = await desk.start({
        chat: [{ endedBy: 'length' }, { text: marked('Shorter, then.') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
      expect((await toolResults(thread))[0]?.content).toContain('reached its limit of length')
    })

    test('the payload of a session stop is with its run', async () => {
      const { thread } = await desk.start({ agent: 'closer', chat: [{ toolCalls: [close] }] })
      const run = await thread.waitUntilIdle()
      expect(run.session).toMatchObject({ outcome: 'success', message: marked('Solved'), attachments: [] })
    })
  },
  { limits: { stepsPerRun: 5, repeatedToolErrors: 3 } },
)
