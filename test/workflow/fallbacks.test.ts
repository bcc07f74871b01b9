import { describe, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { createGate } from '../support/gate.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { freshBeginnings, splitCalls } from '../support/request-rules.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

// The agent `courier` asks its model `backed`, which says what `chat` says; its fallback is `review`.

const refused = (status: number, headers: Readonly<Record<string, string>> = {}) => ({
  error: { status, message: marked(`No, ${status}`), headers },
})
const later = (seconds: number) => refused(429, { 'retry-after': String(seconds) })
const work = { name: 'work', args: { task: marked('count') } }
const outline = { name: 'outline', args: { text: marked('A long story') } }

/** Who was asked, and what came of it. */
async function models(thread: ThreadHandle): Promise<readonly unknown[]> {
  return (await factsOf(thread)).flatMap(({ type, payload }) => {
    if (type === 'model.requested') return [`${String(payload.model)} ${payload.attempt}`]
    if (type === 'model.failed') return [`${String(payload.error)}: ${String(payload.next)}`]
    return type === 'model.completed' ? ['answered'] : []
  })
}

threeRuns((desk) => {
  describe('a fallback', () => {
    test('answers for a model that failed twice', async () => {
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [refused(500), refused(503), { text: marked('Back again') }],
        review: [{ text: marked('Standing in') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({
        status: 'idle',
        reason: 'stop_on_response',
        steps: 1,
        reply: { content: marked('Standing in') },
      })
      expect(await models(thread)).toEqual([
        ...['backed 1', 'unavailable: retry', 'backed 2', 'overloaded: fallback'],
        ...['review 3', 'answered'],
      ])
      expect(activityNames(await desk.runs(thread.threadId))).toEqual(['thread.callModel'])
      // The next step asks the prompt's own model first.
      await thread.send(marked('And now?'))
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Back again'))
      expect([chat.requests.length, review.requests.length]).toEqual([3, 1])
      expect((await transcript(thread)).map(({ content }) => content)).toEqual(
        ['Hello', 'Standing in', 'And now?', 'Back again'].map(marked),
      )
    })

    test('AR-MR.1 AR-MR.6 is in the log of its turn, and so is that no model is left', async () => {
      const { thread } = await desk.start({
        agent: 'courier',
        chat: [refused(401), refused(401), { text: marked('Back again') }],
        review: [{ text: marked('Standing in') }, refused(403)],
      })
      const turns = [await thread.waitUntilIdle()]
      for (const text of ['And now?', 'And now?']) {
        await thread.send(marked(text))
        turns.push(await thread.waitUntilIdle())
      }
      expect(turns).toMatchObject([
        { reply: { content: marked('Standing in') } },
        { status: 'idle', reason: 'model_failed' },
        { reply: { content: marked('Back again') } },
      ])
      const facts = (await factsOf(thread)).flatMap((fact) =>
        fact.type === 'model.requested' || fact.type === 'model.unavailable' ? [fact] : [],
      )
      const runs = [...new Set(facts.map(({ runId }) => runId))]
      const routings = runs.map((run) =>
        facts.filter(({ runId }) => runId === run).map(({ payload }) => payload.routing),
      )
      const first = ['prompt_model', 'fallback']
      expect(routings.map((of) => of.map(({ reason }) => reason))).toEqual([
        first,
        [...first, 'none'],
        ['prompt_model'],
      ])
      const candidates = [{ model: 'backed', excluded: 'authentication' }, { model: 'review' }]
      const profile = { kind: 'reply', source: 'prompt', needs: ['tools'] }
      const second = { ...profile, candidates, mode: 'single', fallbackFrom: 'backed' }
      expect(routings[0]?.at(-1)).toMatchObject(second)
    })

    test('AR-SN.11 is in the summary of routing, and so is that no model is left', async () => {
      const { thread } = await desk.start({
        agent: 'courier',
        chat: [refused(401), refused(401)],
        review: [{ text: marked('Standing in') }, refused(403)],
      })
      await thread.waitUntilIdle()
      const { choice, ...rest } = await thread.routing()
      expect(choice).toMatchObject({
        ...{ model: 'review', available: 1, runId: 'run_1', stepId: 'step_1_1' },
        routing: { reason: 'fallback', requested: 'backed', needs: ['tools'] },
      })
      expect(rest).toEqual({
        ...{ threadId: thread.threadId, waitsFor: null, budgets: [] },
        usage: await thread.usage(),
      })
      expect(rest.usage).toMatchObject({ requests: 2, failedRequests: 1 })
      await thread.send(marked('And now?'))
      await thread.waitUntilIdle()
      expect((await thread.routing()).choice).toMatchObject({
        ...{ model: null, available: 0, runId: 'run_2' },
        routing: { reason: 'none', candidates: [{ model: 'backed' }, { model: 'review' }] },
      })
    })

    test('goes on with the calls of the model before it', async () => {
      let runs = 0
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [{ toolCalls: [work] }, refused(401), { text: marked('Done') }],
        review: [{ toolCalls: [work, work] }],
        tools: { work: () => ({ status: 'success', result: marked(`work ${(runs += 1)}`) }) },
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ steps: 3, reply: { content: marked('Done') } })
      expect((await toolResults(thread)).map(({ content }) => content)).toEqual(
        ['work 1', 'work 2', 'work 3'].map(marked),
      )
      // Whoever is asked sees the same conversation.
      const asked = [chat.requests[0], chat.requests[1], review.requests[0], chat.requests[2]]
      const requests = asked.flatMap((request) => (request === undefined ? [] : [request]))
      expect(requests).toHaveLength(4)
      expect(freshBeginnings(requests)).toEqual([])
      expect(requests.flatMap(({ raw }) => splitCalls(raw.prompt))).toEqual([])
    })

    test('K-20 answers for the model of a prompt tool', async () => {
      const { thread, chat } = await desk.start({
        agent: 'courier',
        chat: ({ prompt, messages }) => {
          if (prompt === 'outline') return refused(403)
          return messages.length === 1 ? { toolCalls: [outline] } : { text: marked('Done') }
        },
        review: [{ text: marked('Short') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ steps: 2, reply: { content: marked('Done') } })
      expect((await toolResults(thread))[0]).toMatchObject({ name: 'outline', tool_status: 'success' })
      expect(chat.requests.at(-1)?.messages.at(-1)?.text).toContain(marked('Short'))
    })

    test('K-4 is not asked after a stop', async () => {
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [
          { text: marked(Array.from({ length: 200 }, () => 'word').join(' ')), wordDelay: 50 },
          { text: marked('Back again') },
        ],
        review: [{ text: marked('Never') }],
      })
      for await (const event of thread.events()) if (event.type === 'model.delta') break
      await thread.stop()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
      expect(await models(thread)).toEqual(['backed 1', 'interrupted: none'])
      await thread.continue()
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Back again'))
      expect([chat.requests.length, review.requests.length]).toEqual([2, 0])
    })
  })

  describe('a Retry-After', () => {
    test('of a moment is waited for inside the step', async () => {
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [refused(429, { 'retry-after-ms': '1500' }), { text: marked('Here') }],
      })
      const started = Date.now()
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Here'))
      expect(Date.now() - started).toBeGreaterThan(1000)
      expect([chat.requests.length, review.requests.length]).toEqual([2, 0])
      expect(activityNames(await desk.runs(thread.threadId))).toEqual(['thread.callModel'])
    })

    test('of all models is waited for by the thread', async () => {
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        // In real time where threads continue as new: hardly longer than what a step waits by itself.
        chat: [later(10.2), refused(401), { text: marked('Back again') }],
        review: [later(10.1), { text: marked('Standing in') }],
      })
      await until('the wait', async () => (await thread.snapshot()).status === 'waiting_resource')
      await thread.send(marked('Still there?'))
      expect(await thread.waitUntilIdle()).toMatchObject({
        status: 'idle',
        reply: { content: marked('Back again') },
      })
      expect((await transcript(thread)).map(({ content }) => content)).toEqual(
        ['Hello', 'Standing in', 'Still there?', 'Back again'].map(marked),
      )
      // The shorter wait, then the same call from its beginning; the message comes after it.
      expect(await models(thread)).toEqual([
        ...['backed 1', 'rate_limited: fallback', 'review 2', 'rate_limited: wait'],
        ...['backed 3', 'authentication: fallback', 'review 4', 'answered'],
        ...['backed 1', 'answered'],
      ])
      const waited = [chat.requests[1], review.requests[1]].map((request) => request?.messages)
      expect(waited).toEqual([chat.requests[0]?.messages, chat.requests[0]?.messages])
    })
  })

  describe('where no model answers', () => {
    test('SA-R-01.3 the run ends visibly and the thread stays usable', async () => {
      const { thread, chat } = await desk.start({
        agent: 'courier',
        chat: [refused(401), { text: marked('Here') }],
        review: [refused(403)],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'model_failed' })
      expect(await factTypes(thread)).toContain('run.failed')
      const [, failed] = await transcript(thread)
      expect(failed).toMatchObject({ role: 'assistant', status: 'failed' })
      // Who failed and how, never a provider's own words.
      expect(failed?.content).toBe(
        'The model "backed" gave no answer because it has no key, or its provider refused it. ' +
          'Its fallback "review" gave none because it has no key, or its provider refused it. ' +
          'Send a message to try again.',
      )
      await thread.send(marked('And now?'))
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Here'))
      expect(chat.requests[1]?.messages.map(({ text }) => text)).toEqual(['Hello', 'And now?'].map(marked))
    })

    test('a message that came meanwhile is answered next', async () => {
      const gate = createGate()
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [async () => (await gate.passed, refused(401)), { text: marked('Here') }],
        review: [refused(403)],
      })
      await until('the request', () => chat.requests.length === 1)
      await thread.send(marked('And this'))
      gate.open()
      expect(await thread.waitUntilIdle()).toMatchObject({
        reason: 'stop_on_response',
        reply: { content: marked('Here') },
      })
      expect((await transcript(thread)).map(({ status }) => status)).toEqual([
        ...['completed', 'failed', 'completed', 'completed'],
      ])
      expect(review.requests).toHaveLength(1)
    })

    test('T4 what the run had done is not done again', async () => {
      let runs = 0
      const { thread, chat, review } = await desk.start({
        agent: 'courier',
        chat: [{ toolCalls: [work] }, refused(401), { text: marked('Done') }],
        review: [refused(403)],
        tools: { work: () => ({ status: 'success', result: marked(`work ${(runs += 1)}`) }) },
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'model_failed', steps: 1 })
      await thread.continue()
      expect(await thread.waitUntilIdle()).toMatchObject({ steps: 1, reply: { content: marked('Done') } })
      expect([runs, review.requests.length]).toEqual([1, 1])
      expect(freshBeginnings(chat.requests)).toEqual([])
      expect(chat.requests[2]?.messages.at(-1)?.text).toBe(marked('work 1'))
    })

    test('a prompt tool has an error result', async () => {
      const { thread } = await desk.start({
        agent: 'courier',
        chat: ({ prompt, messages }) => {
          if (prompt === 'outline') return refused(403)
          return messages.length === 1 ? { toolCalls: [outline] } : { text: marked('Done without') }
        },
        review: [refused(403)],
      })
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done without'))
      expect(await toolResults(thread)).toMatchObject([{ name: 'outline', tool_status: 'error' }])
    })
  })

  // The last test of the file: the pause holds for all threads of a worker.
  test('a fallback is asked before anybody waits for the model', async () => {
    const { thread, chat } = await desk.start({
      agent: 'courier',
      chat: [later(3600)],
      review: [{ text: marked('Standing in') }],
    })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Standing in'))
    expect(chat.requests).toHaveLength(1)
    expect(activityNames(await desk.runs(thread.threadId))).toEqual(['thread.callModel'])
  })
})
