import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { familyRuns } from '../support/family-runs.js'
import { payload, signalRaw } from '../support/raw-messages.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const order = { toolCalls: [{ name: 'pair', args: { task: marked('Write') } }] }
const draft = { text: marked('Draft') }
const approve = { toolCalls: [{ name: 'approve', args: { summary: marked('Good') } }] }
const done = { text: marked('Done') }

familyRuns((families) => {
  const report = async (threadId: string, input: unknown): Promise<void> =>
    signalRaw(families.env.threads.temporal, {
      threadId,
      signal: 'childReport',
      input: payload('json/plain', JSON.stringify(input)),
    })

  test('T7 a report that comes again is answered once', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        planner: [order, async () => (await gate.passed, done), done],
        writer: [draft],
        editor: [approve],
      },
    })
    const { threadId } = family.thread
    const child = await family.child()
    await until('the second request', () => family.requests('planner').length === 2)
    const [result] = await toolResults(family.thread)
    const again = {
      reference: child.threadId,
      report: 1,
      invocations: ['call_1_1_0'],
      kind: 'result',
      messageId: result?.id,
    }
    await report(threadId, again)
    gate.open()
    await family.thread.waitUntilIdle()
    await report(threadId, again)
    await family.thread.send(marked('Hello?'))
    await family.thread.waitUntilIdle()
    expect(await toolResults(family.thread)).toHaveLength(1)
    const { messages } = await family.thread.messages({ includeSilent: true })
    expect(messages.filter(({ silent }) => silent)).toEqual([])
    expect(messages.filter(({ id }) => id === result?.id)).toEqual([result])
  })

  test.each([
    { fact: 'of a child that is not owed', reference: 'somebody', call: 'call_1_1_0', warns: false },
    { fact: 'that names another call', reference: null, call: 'call_9_9_9', warns: false },
    { fact: 'of no kind', reference: null, call: 'call_1_1_0', kind: 'rumour', warns: true },
    { fact: 'of a message id of 1 MB', reference: null, call: 'call_1_1_0', long: true, warns: true },
  ])('T10 a report $fact changes nothing', async ({ reference, call, warns, ...bad }) => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        planner: [order, done],
        writer: [async () => (await gate.passed, draft)],
        editor: [approve],
      },
    })
    const child = await family.child()
    await until('the request of the child', () => family.requests('writer').length === 1)
    await report(family.thread.threadId, {
      reference: reference ?? child.threadId,
      report: 1,
      invocations: [call],
      kind: bad.kind ?? 'result',
      messageId: bad.long === true ? 'x'.repeat(1_000_000) : 'forged',
    })
    const { status, run } = await family.thread.snapshot()
    expect([status, run?.doing]).toEqual(['running', `child ${child.threadId}`])
    gate.open()
    await family.thread.waitUntilIdle()
    expect(await toolResults(family.thread)).toMatchObject([
      { content: marked('Good'), tool_status: 'success' },
    ])
    expect((await transcript(family.thread)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    const warnings = (await factsOf(family.thread)).filter(({ type }) => type === 'runtime.warning')
    expect(warnings).toHaveLength(warns ? 1 : 0)
  })
})
