import { beforeEach, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { agent } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

/** Of each thread: what its requests for a summary get, in turn. */
const summaries = new Map<string, ScriptedAnswer[]>()
const asked = new Map<string, string[]>()
beforeEach(() => {
  summaries.clear()
  asked.clear()
})

const model = scriptedModel(({ threadId: id, raw: { prompt } }) => {
  const threadId = String(id)
  const kind = JSON.stringify(prompt[0]).includes('You write the memory') ? 'summary' : 'answer'
  asked.set(threadId, [...(asked.get(threadId) ?? []), kind])
  if (kind === 'answer') return { text: marked('said') }
  const next = summaries.get(threadId)?.shift()
  if (next === undefined) throw new Error('Expected no request for a summary, got one.')
  return next
})

/** It is compacted with the 8th of 10 messages. */
const memory = agent({
  ...{ name: 'memory', model, instructions: 'You remember.' },
  ...{ window: { messages: 10 }, compaction: {} },
})

const typesOf = async (thread: ThreadHandle) =>
  (await factsOf(thread)).filter(({ type }) => type.startsWith('context.compaction.'))

threeModes({ agents: [memory], models: model }, (modes) => {
  let number = 0

  async function talk(turns: number, given: readonly ScriptedAnswer[]): Promise<ThreadHandle> {
    const id = `between-runs-${(number += 1)}-${modes.mode.replaceAll(' ', '-')}`
    summaries.set(id, [...given])
    const thread = await modes.env.threads.create({ agent: 'memory', id })
    for (let turn = 1; turn <= turns; turn += 1) await say(thread, turn)
    return thread
  }

  async function say(thread: ThreadHandle, turn: number): Promise<void> {
    await thread.send(marked(`ask ${turn}`))
    expect((await thread.waitUntilIdle()).reason).toBe('stop_on_response')
  }

  test('AR-TC.6 a context that an answer has filled is compacted while the thread is idle, and the next step waits for nothing', async () => {
    const thread = await talk(3, [])
    await say(thread, 4)
    summaries.set(thread.threadId, [{ text: marked('SUMMARY') }])
    await until('the compaction', async () => (await typesOf(thread)).length === 2)
    const [started, completed] = await typesOf(thread)
    expect(started).toMatchObject({ type: 'context.compaction.started', payload: { trigger: 'threshold' } })
    expect(completed).toMatchObject({
      ...{ type: 'context.compaction.completed', payload: { stage: 'summarized' } },
    })
    expect([started?.runId, completed?.runId]).toEqual([undefined, undefined])
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', effects: [] })
    await say(thread, 5)
    expect(asked.get(thread.threadId)).toEqual([...Array(4).fill('answer'), 'summary', 'answer'])
    const last = model.requests.findLast(({ threadId }) => threadId === thread.threadId)
    expect(last?.messages[0]?.text).toContain(`> ${marked('SUMMARY')}`)
    expect(await thread.boundaries()).toHaveLength(1)
    expect(await transcript(thread)).toHaveLength(10)
  })

  test('a message that comes meanwhile does not wait for the summary, and the step makes its own', async () => {
    const words = Array.from({ length: 200 }, (_, index) => `word${index}`).join(' ')
    const thread = await talk(4, [{ text: words, wordDelay: 1_000 }, { text: marked('SUMMARY') }])
    await until('the request for a summary', async () => asked.get(thread.threadId)?.at(-1) === 'summary')
    await say(thread, 5)
    const events = await typesOf(thread)
    expect(events.map(({ type, payload }) => [type, (payload as { code?: string }).code])).toEqual([
      ['context.compaction.started', undefined],
      ['context.compaction.failed', 'message_came'],
      ['context.compaction.started', undefined],
      ['context.compaction.completed', undefined],
    ])
    expect(await thread.boundaries()).toHaveLength(1)
    expect(asked.get(thread.threadId)).toEqual([...Array(4).fill('answer'), 'summary', 'summary', 'answer'])
  })

  test('a command compacts an idle thread at once, each time', async () => {
    const thread = await talk(2, [{ text: marked('FIRST') }, { text: marked('SECOND') }])
    expect(await thread.compact({ focus: marked('tents') })).toEqual({ status: 'requested' })
    await until('the compaction', async () => (await typesOf(thread)).length === 2)
    expect((await typesOf(thread))[0]).toMatchObject({ payload: { trigger: 'command' } })
    expect(asked.get(thread.threadId)).toEqual(['answer', 'answer', 'summary'])
    const request = model.requests.findLast(({ threadId }) => threadId === thread.threadId)
    expect(JSON.stringify(request?.raw.prompt)).toContain(marked('tents'))
    await say(thread, 3)
    await thread.compact()
    await until('the second one', async () => (await typesOf(thread)).length === 4)
    const reasons = (await thread.boundaries()).map(({ reason, summary }) => [reason, summary])
    expect(reasons).toEqual([
      ['command', marked('SECOND')],
      ['request', marked('FIRST')],
      ['command', marked('FIRST')],
      ['request', null],
    ])
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', effects: [], queue: [] })
    expect(asked.get(thread.threadId)).toEqual(['answer', 'answer', 'summary', 'answer', 'summary'])
  })

  test('a command in a thread that works is carried out once, by its step', async () => {
    const thread = await talk(2, [{ text: marked('SUMMARY') }])
    // Both are there before a worker looks: the step comes first, or the effect finds that a message waits.
    await Promise.all([thread.send(marked('ask 3')), thread.compact()])
    await thread.waitUntilIdle()
    await until('the compaction', async () => (await typesOf(thread)).length >= 2)
    await say(thread, 4)
    expect(asked.get(thread.threadId)?.filter((kind) => kind === 'summary')).toHaveLength(1)
    expect((await typesOf(thread)).at(-1)).toMatchObject({ type: 'context.compaction.completed' })
  })

  test('a context with room schedules nothing', async () => {
    const thread = await talk(3, [])
    expect(activityNames(await modes.runs(thread.threadId))).not.toContain('thread.runEffect')
    expect((await thread.snapshot()).effects).toEqual([])
  })
})
