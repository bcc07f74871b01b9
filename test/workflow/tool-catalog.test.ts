import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { approve, calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { models, policyDeskOf, tools } from '../support/policy-runs.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const SELLER = ['look', 'note', 'refund', 'delegate', 'draft', 'chief', 'runner']
const LIFECYCLE = ['subagent_create', 'subagent_message']

/** The catalogs of a thread, and for each run what stands before its first request. */
async function catalogsOf(thread: ThreadHandle) {
  const facts = await factsOf(thread)
  const catalogs = facts.flatMap((one) => (one.type === 'tool.catalog.resolved' ? [one] : []))
  const runs = [...new Set(facts.flatMap(({ runId, type }) => (type === 'model.requested' ? [runId] : [])))]
  const before = runs.map((run) => {
    const types = facts.flatMap(({ runId, type }) => (runId === run ? [type] : []))
    return types.slice(0, types.indexOf('model.requested')).filter((type) => /^tool|^context/.test(type))
  })
  return { catalogs, runs, before }
}

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { start } = policyDeskOf(mode)

  test('AR-EC.8 the tools of a run are in the log once, before its first request: steps, repeats, several runs', async () => {
    const failing = { error: { status: 500, message: 'No.' } } as const
    const { thread } = await start({
      voices: {
        seller: [failing, calls(order('note')), calls(order('look')), done, calls(order('note')), done],
      },
    })
    await thread.waitUntilIdle()
    await thread.send(marked('More'))
    await thread.waitUntilIdle()
    const { catalogs, runs, before } = await catalogsOf(thread)
    expect(before).toEqual(runs.map(() => ['tool.catalog.resolved', 'context.resolved']))
    expect(catalogs.map(({ runId, stepId }) => [runId, stepId])).toEqual([
      ['run_1', 'step_1_1'],
      ['run_2', 'step_2_1'],
    ])
    const [first, second] = catalogs.map(({ payload }) => payload)
    expect(first).toEqual({
      ...{ agent: 'seller', prompt: 'seller', count: first?.tools.length },
      tools: expect.arrayContaining([...SELLER, ...LIFECYCLE]),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(second).toEqual(first)
  })

  test('a nested prompt has none of its own, and two agents have one in each of their runs', async () => {
    const { thread } = await start({
      voices: {
        seller: [calls(order('draft')), calls(order('runner')), done],
        draft: [done],
        worker: [done, done],
        judge: [{ text: marked('Go on') }, approve()],
      },
    })
    await thread.waitUntilIdle()
    const { catalogs } = await catalogsOf(thread)
    expect(catalogs.map(({ payload }) => payload.prompt)).toEqual(['seller'])
    const [child] = (await thread.snapshot()).children
    const below = await catalogsOf(mode.env.threads.get(child?.reference ?? ''))
    expect(below.catalogs.map(({ payload: { prompt, tools: names } }) => [prompt, names])).toEqual([
      ['worker', ['refund']],
    ])
    expect(below.before).toEqual([['tool.catalog.resolved', 'context.resolved']])
  })

  test('a run that begins with a queued tool has it in its first step', async () => {
    const { thread } = await start({ voices: { seller: [done, done] } })
    await thread.waitUntilIdle()
    await thread.queueTool('note', { task: marked('Write') })
    await thread.waitUntilIdle()
    const { catalogs, runs, before } = await catalogsOf(thread)
    expect(runs).toHaveLength(2)
    expect(before[1]?.filter((type) => !type.startsWith('tool.r') && type !== 'tool.started')).toEqual([
      'tool.catalog.resolved',
      'context.resolved',
    ])
    expect(catalogs).toHaveLength(2)
  })
})
