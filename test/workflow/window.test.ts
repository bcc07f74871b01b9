import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { freshBeginnings, splitCalls } from '../support/request-rules.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

/** What the window of the agent `reader` may hold: 80 % of 2000 tokens, of about four bytes each. */
const WINDOW_BYTES = 6400
const GAP = 'System note:\nEarlier messages of this conversation are left out here.'
const tooLong = { error: { status: 400, message: marked('The maximum context length is 8192 tokens.') } }

/** 100 tokens, about. */
function long(text: string): string {
  return marked(`${text} ${'x'.repeat(400)}`)
}

function bytesOf({ messages }: ScriptedRequest): number {
  return messages.reduce((sum, { text }) => sum + text.length, 0)
}

function split(requests: readonly ScriptedRequest[]): readonly string[] {
  return requests.flatMap(({ raw }) => splitCalls(raw.prompt))
}

/** The places, from 0, of requests for which the window was cut. */
async function cuts(thread: ThreadHandle): Promise<readonly number[]> {
  const dropped = (await factsOf(thread)).flatMap(({ type, payload }) =>
    type === 'context.resolved' ? [Number(payload.dropped)] : [],
  )
  return dropped.flatMap((rows, index) => (rows > (dropped[index - 1] ?? 0) ? [index] : []))
}

/** A cut leaves room for some requests: the fewest between two of them. */
function fewestBetween(jumps: readonly number[]): number {
  return Math.min(...jumps.map((jump, index) => jump - (jumps[index - 1] ?? 0)))
}

threeRuns((desk) => {
  test('SA-R-04.2 K-22 T12 a conversation outgrows its window in jumps', async () => {
    let said = 0
    const { thread, chat } = await desk.start({
      agent: 'reader',
      message: null,
      chat: () => ({ text: long(`say ${(said += 1)}`) }),
    })
    const turns = Array.from({ length: 13 }, (_, index) => index + 1)
    for (const turn of turns) {
      await thread.send(long(`ask ${turn}`))
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ reason: 'stop_on_response', reply: { content: long(`say ${turn}`) } })
    }
    const jumps = await cuts(thread)
    expect(jumps.length).toBeGreaterThan(1)
    expect(freshBeginnings(chat.requests)).toEqual(jumps)
    expect(fewestBetween(jumps)).toBeGreaterThan(2)
    for (const [index, request] of chat.requests.entries()) {
      expect(request.messages.at(-1)?.text).toBe(long(`ask ${index + 1}`))
      expect(request.messages[0]?.text === GAP).toBe(index >= (jumps[0] ?? 0))
      expect(bytesOf(request)).toBeLessThan(WINDOW_BYTES)
    }
    expect((await transcript(thread)).map(({ content }) => content)).toEqual(
      turns.flatMap((turn) => [long(`ask ${turn}`), long(`say ${turn}`)]),
    )
  })

  test('a run that outgrows its window keeps its task and whole exchanges', async () => {
    const callsOf = (step: number) =>
      ['work', 'other', 'flaky']
        .slice(0, 1 + (step % 3))
        .map((name) => ({ name, args: { task: marked(`${step}`) } }))
    const steps = Array.from({ length: 11 }, (_, index) => ({ toolCalls: callsOf(index + 1) }))
    const { thread, chat } = await desk.start({
      agent: 'reader',
      message: marked('the task'),
      chat: [...steps, { text: marked('Done') }],
      tools: {
        work: async (state, { task }) => {
          if (task === marked('4')) state.queueTool('other', { task: marked('queued') })
          if (task === marked('6')) await thread.send(marked('on the way'))
          return { status: 'success', result: long(`work ${String(task)}`) }
        },
        flaky: () => {
          throw new Error(long('broken'))
        },
      },
    })
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ reason: 'stop_on_response', steps: 12, reply: { content: marked('Done') } })
    expect(split(chat.requests)).toEqual([])
    const jumps = await cuts(thread)
    expect(jumps.length).toBeGreaterThan(1)
    expect(freshBeginnings(chat.requests)).toEqual(jumps)
    expect(fewestBetween(jumps)).toBeGreaterThan(1)
    for (const [index, request] of chat.requests.entries()) {
      expect(request.messages[0]?.text).toBe(marked('the task'))
      expect(request.messages[1]?.text === GAP).toBe(index >= (jumps[0] ?? 0))
      expect(bytesOf(request)).toBeLessThan(WINDOW_BYTES)
    }
    const texts = chat.requests.flatMap(({ messages }) => messages.map(({ text }) => text))
    expect(texts).toContain(marked('on the way'))
    const calls = steps.flatMap(({ toolCalls }) => toolCalls)
    expect(await toolResults(thread)).toHaveLength(calls.length + 1)
  })

  const work = { toolCalls: [{ name: 'work', args: { task: marked('count') } }] }
  const turn = [work, { text: long('say') }]
  const talk = async (thread: ThreadHandle, count: number) => {
    for (let asked = 1; asked <= count; asked += 1) {
      await thread.send(long(`ask ${asked}`))
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', steps: 2, reply: { content: long('say') } })
    }
  }

  desk.ofActivities('K-22 a length that the provider refuses is halved for good', async () => {
    const { thread, chat } = await desk.start({
      message: null,
      chat: [...turn, ...turn, ...turn, ...turn, tooLong, tooLong, ...turn, ...turn],
    })
    await talk(thread, 6)
    expect(chat.requests).toHaveLength(14)
    const [refused = 0, half = 0, quarter = 0] = chat.requests.slice(8).map(bytesOf)
    expect(half).toBeLessThan(refused * 0.6)
    expect(quarter).toBeLessThan(refused * 0.35)
    expect(freshBeginnings(chat.requests)).toEqual([9, 10])
    expect(split(chat.requests)).toEqual([])
    const failures = (await factsOf(thread)).filter(({ type }) => type === 'model.failed')
    expect(failures.map(({ payload }) => payload)).toMatchObject([
      { error: 'context_too_long', next: 'retry' },
      { error: 'context_too_long', next: 'retry' },
    ])
    // All in one activity, as any other step.
    const names = activityNames(await desk.runs(thread.threadId))
    expect(names.filter((name) => name === 'thread.callModel')).toHaveLength(12)
    expect((await transcript(thread)).filter(({ role }) => role === 'user')).toHaveLength(6)
  })

  test('a length that is refused thrice ends the run visibly', async () => {
    const { thread, chat } = await desk.start({
      message: null,
      chat: [...turn, ...turn, tooLong, tooLong, tooLong, { text: marked('Here') }],
    })
    await talk(thread, 2)
    await thread.send(marked('Too much'))
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ status: 'idle', reason: 'model_failed' })
    const failed = (await transcript(thread)).at(-1)
    expect(failed).toMatchObject({ role: 'assistant', status: 'failed' })
    expect(failed?.content).toContain('the conversation is too long for it')
    await thread.send(marked('And now?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Here'))
    expect(chat.requests.at(-1)?.messages.at(-1)?.text).toBe(marked('And now?'))
    // What was cut stays cut: the next request is not refused for what the last one was.
    expect(chat.requests.at(-1)?.messages[0]?.text).toBe(GAP)
  })
})
