import { expect, test } from 'vitest'
import { SIGNALS } from '../../src/protocol/messages.js'
import { createGate } from '../support/gate.js'
import { activityEvents, activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { payload, signalRaw } from '../support/raw-messages.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import type { Behaviour } from '../support/thread-scripts.js'
import { threeRuns } from '../support/three-runs.js'
import type { Desk, Scenario } from '../support/three-runs.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })
const WORKS = { toolCalls: [call('work')] }
const DONE = { text: marked('Done') }
const ok = { status: 'success', result: marked('ok') } as const

/** The activities that are actions of the thread, by their short names. */
async function actions(desk: Desk, { thread }: Pick<Scenario, 'thread'>): Promise<readonly string[]> {
  const names = activityNames(await desk.runs(thread.threadId))
  return names.flatMap((name) => (name === 'thread.storeStop' ? [] : [name.replace('thread.', '')]))
}

/** An activity has been told of an item that has no row. */
async function untilToldNews(desk: Desk, { thread }: Pick<Scenario, 'thread'>): Promise<void> {
  await until('stored news', async () =>
    activityEvents(await desk.runs(thread.threadId)).some(
      ({ kind, activity }) => kind === 'ended' && activity === 'thread.storeStop',
    ),
  )
}

/** The tool of this step waits; the other ones are done at once. */
function waitingIn(
  step: number,
  what: Behaviour,
): { readonly work: Behaviour; readonly count: () => number } {
  let calls = 0
  return {
    work: (...given) => ((calls += 1) === step ? what(...given) : ok),
    count: () => calls,
  }
}

/** A thread whose burst is in the tool of its second step. */
async function inSecondTool(desk: Desk, { agent = 'clerk' }: { readonly agent?: 'clerk' | 'manager' } = {}) {
  const gate = createGate()
  const { work, count } = waitingIn(2, () => gate.passed.then(() => ok))
  const chat = [WORKS, WORKS, WORKS, DONE]
  const scenario = await desk.start({ agent, chat, tools: { work } })
  await until('the second tool', () => count() === 2)
  return { ...scenario, gate, count }
}

const texts = ({ chat }: Pick<Scenario, 'chat'>, request: number) =>
  chat.requests[request]?.messages.flatMap(({ role, text }) => (role === 'user' ? [text] : []))

threeRuns(
  (desk) => {
    test('T6 a turn of six tool steps is one activity', async () => {
      const { work, count } = waitingIn(0, () => ok)
      const scenario = await desk.start({
        chat: [WORKS, WORKS, { toolCalls: [call('work'), call('other')] }, WORKS, WORKS, WORKS, DONE],
        tools: { work },
      })
      const run = await scenario.thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', reason: 'stop_on_response', runId: 'run_1', steps: 7 })
      expect(run.reply?.content).toBe(marked('Done'))
      expect([count(), scenario.chat.requests.length]).toEqual([6, 7])
      expect(await actions(desk, scenario)).toEqual(['callModel'])
      expect(await toolResults(scenario.thread)).toHaveLength(7)
      const ends = (await factTypes(scenario.thread)).filter((type) => type === 'run.completed')
      expect(ends).toHaveLength(1)
    })

    test('T6 without it a turn has an activity for each call, and none for its end', async () => {
      const scenario = await desk.start({ agent: 'stepwise', chat: [WORKS, DONE] })
      expect(await scenario.thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
      expect(await actions(desk, scenario)).toEqual(['callModel', 'executeTool', 'callModel'])
      await scenario.thread.snapshot()
    })

    test('T3 a message in mid-burst is in the next request', async () => {
      const scenario = await inSecondTool(desk)
      const { thread, gate, chat } = scenario
      await thread.send(marked('And this'))
      gate.open()
      expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_1', steps: 4 })
      expect(texts(scenario, 1)).toEqual([marked('Hello')])
      expect(texts(scenario, 2)).toEqual([marked('Hello'), marked('And this')])
      expect(texts(scenario, 3)).toEqual([marked('Hello'), marked('And this')])
      expect(await actions(desk, scenario)).toEqual(['callModel', 'callModel'])
      expect([chat.requests.length, scenario.count()]).toEqual([4, 3])
    })

    test('SA-R-01.4 a message during the last model call starts the next run', async () => {
      const gate = createGate()
      const scenario = await desk.start({
        chat: [WORKS, () => gate.passed.then(() => DONE), { text: marked('More') }],
      })
      const { thread, chat } = scenario
      await until('the last request', () => chat.requests.length === 2)
      await thread.send(marked('And this'))
      gate.open()
      const run = await thread.waitUntilIdle()
      expect([run.runId, run.reply?.content]).toEqual(['run_2', marked('More')])
      expect(texts(scenario, 2)).toEqual([marked('Hello'), marked('And this')])
      expect((await transcript(thread)).filter(({ role }) => role === 'user')).toHaveLength(2)
      expect(await actions(desk, scenario)).toEqual(['callModel', 'callModel'])
    })

    test('T3 a tool that is queued in mid-burst runs once, before the next step', async () => {
      const scenario = await inSecondTool(desk)
      const { thread, gate, chat } = scenario
      await thread.queueTool('other', { task: marked('queued') })
      gate.open()
      await thread.waitUntilIdle()
      expect((await toolResults(thread)).map(({ name }) => name)).toEqual(['work', 'work', 'other', 'work'])
      expect(chat.requests).toHaveLength(4)
      expect(await actions(desk, scenario)).toEqual(['callModel', 'executeTool', 'callModel'])
    })

    test('T3 a message that a tool queues comes behind one that was sent before', async () => {
      const gate = createGate()
      const { work, count } = waitingIn(2, async (state) => {
        await gate.passed
        await state.queueMessage({ role: 'user', content: marked('From the tool') })
        return ok
      })
      const scenario = await desk.start({ chat: [WORKS, WORKS, DONE], tools: { work } })
      await until('the second tool', () => count() === 2)
      await scenario.thread.send(marked('From outside'))
      await until('the item', async () => (await scenario.thread.snapshot()).queue.length === 1)
      gate.open()
      await scenario.thread.waitUntilIdle()
      expect(texts(scenario, 2)).toEqual([marked('Hello'), marked('From outside'), marked('From the tool')])
    })

    test('a continue in mid-burst ends it at the next step', async () => {
      const scenario = await inSecondTool(desk)
      const { thread, gate, chat } = scenario
      await thread.continue()
      await untilToldNews(desk, scenario)
      gate.open()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_1', steps: 4 })
      expect([chat.requests.length, scenario.count()]).toEqual([4, 3])
      expect(await actions(desk, scenario)).toEqual(['callModel', 'callModel'])
    })

    test('T3 an inline message in mid-burst is in the next request', async () => {
      const scenario = await inSecondTool(desk)
      const { thread, gate } = scenario
      desk.allowInline(thread.threadId, SIGNALS.queueMessage)
      const input = payload('json/plain', JSON.stringify({ content: marked('Inline') }))
      const { temporal } = desk.env.threads
      await signalRaw(temporal, { threadId: thread.threadId, signal: SIGNALS.queueMessage, input })
      await untilToldNews(desk, scenario)
      gate.open()
      await thread.waitUntilIdle()
      expect(texts(scenario, 2)).toEqual([marked('Hello'), marked('Inline')])
      expect((await transcript(thread)).filter(({ role }) => role === 'user')).toHaveLength(2)
    })

    test('T3 what is taken back in mid-burst is never delivered', async () => {
      const scenario = await inSecondTool(desk)
      const { thread, gate, chat } = scenario
      const { messageId } = await thread.send(marked('Not this'))
      await thread.removeQueued(messageId)
      gate.open()
      await thread.waitUntilIdle()
      expect(JSON.stringify(chat.requests.map(({ raw }) => raw.prompt))).not.toContain('Not this')
      expect((await thread.snapshot()).queue).toEqual([])
      expect(chat.requests).toHaveLength(4)
      expect(await actions(desk, scenario)).toEqual(['callModel'])
    })

    test('variables that are set in mid-burst are in the next request', async () => {
      const scenario = await inSecondTool(desk, { agent: 'manager' })
      const { thread, gate, chat } = scenario
      await thread.setEnv({ HOUSE: marked('Grand Hotel') })
      gate.open()
      await thread.waitUntilIdle()
      const named = chat.requests.map(({ system }) => system?.includes('Grand Hotel'))
      expect(named).toEqual([false, false, true, true])
      expect((await thread.snapshot()).queue).toEqual([])
    })

    test('AR-CC.4 a call that needs approval ends a burst, and the answer goes on', async () => {
      let allowed = 0
      const guarded = () => ((allowed += 1), ok)
      const scenario = await desk.start({
        agent: 'manager',
        chat: [WORKS, { toolCalls: [call('guarded'), call('other')] }, WORKS, DONE],
        tools: { guarded },
      })
      const { thread } = scenario
      expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
      const [request] = (await thread.snapshot()).pending
      expect(allowed).toBe(0)
      await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_1', steps: 4 })
      expect(allowed).toBe(1)
      expect((await toolResults(thread)).map(({ name }) => name)).toEqual([
        'work',
        'guarded',
        'other',
        'work',
      ])
      const names = ['callModel', 'executeTool', 'executeTool', 'callModel']
      expect(await actions(desk, scenario)).toEqual(names)
    })

    test('SA-R-12.4 T8 a stop in the tool of a burst keeps what was done', async () => {
      const { work, count } = waitingIn(2, untilAborted)
      const scenario = await desk.start({
        chat: [WORKS, { toolCalls: [call('work'), call('other')] }, { text: marked('Went on') }],
        tools: { work },
      })
      const { thread, chat } = scenario
      await until('the second tool', () => count() === 2)
      await thread.stop()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped', steps: 2 })
      expect((await toolResults(thread)).map(({ name, tool_status: status }) => [name, status])).toEqual([
        ['work', 'success'],
        ['work', 'error'],
        ['other', 'error'],
      ])
      expect(chat.requests).toHaveLength(2)
      await thread.continue()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_2' })
      expect(chat.requests).toHaveLength(3)
      expect(count()).toBe(2)
    })

    test('T8 a stop in a later model call of a burst counts its steps', async () => {
      const scenario = await desk.start({ chat: [WORKS, WORKS, () => new Promise(() => undefined)] })
      const { thread, chat } = scenario
      await until('the third request', () => chat.requests.length === 3)
      await thread.stop()
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'stopped', reason: 'stopped', steps: 2 })
      expect(await toolResults(thread)).toMatchObject([
        { tool_status: 'success' },
        { tool_status: 'success' },
      ])
      const facts = await factsOf(thread)
      expect(facts.filter(({ type }) => type === 'run.cancelled')).toHaveLength(1)
      const steps = facts.filter(({ type }) => type === 'step.completed').map(({ stepId }) => stepId)
      expect(steps).toEqual([...new Set(steps)])
    })

    test('SA-R-10.2 T8 terminate in mid-burst closes the thread behind what was done', async () => {
      const { work, count } = waitingIn(2, untilAborted)
      const scenario = await desk.start({ chat: [WORKS, WORKS, DONE], tools: { work } })
      const { thread, chat } = scenario
      await until('the second tool', () => count() === 2)
      await thread.terminate()
      await until('a closed thread', async () => (await factTypes(thread)).includes('thread.closed'))
      await until(
        'a closed workflow',
        async () => (await thread.workflow.describe()).status.name !== 'RUNNING',
      )
      expect((await toolResults(thread)).map(({ tool_status: status }) => status)).toEqual([
        'success',
        'error',
      ])
      expect(chat.requests).toHaveLength(2)
      const types = await factTypes(thread)
      for (const type of ['run.cancelled', 'thread.closed'])
        expect(types.filter((one) => one === type)).toHaveLength(1)
    })
  },
  { runAhead: 10 },
)
