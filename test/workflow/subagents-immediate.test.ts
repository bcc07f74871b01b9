import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import type { Family } from '../support/family-runs.js'
import { kindsRuns } from '../support/family-runs.js'
import { activityNames } from '../support/histories.js'
import { act, approve, calls, done, draft } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'

const TORCH = 'torch-of-secret-4711'
const bootstrapped = calls({
  name: 'bootstrap_immediate_subagent',
  args: { task: marked('Lead them'), title: 'Virgil' },
})
const success = { status: 'success', result: marked('acted') } as const
/** The immediate child of an opener, and its own, both end at once. */
const chain = { idler: () => draft, last: () => draft, judge: () => approve('Ready') }

kindsRuns((families) => {
  test('SA-R-07.3c SA-A-07.6a an immediate starts before the first model step', async () => {
    const family = await families.start({
      agent: 'opener',
      voices: { opener: [done, done], ...chain },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const children = await startsOf(thread)
    expect(children).toHaveLength(1)
    // The message of the user was there when the thread started; its place is behind the immediate's.
    const [request] = family.requests('opener')
    expect(request?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'The conversation begins.'],
      ['assistant', ''],
      ['tool', marked('Ready')],
      ['user', marked('Hello')],
    ])
    expect(await orderOf(thread)).toEqual(['child', 'request'])
    expect((await transcript(thread)).map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'user',
      'assistant',
    ])
    await thread.send(marked('Again'))
    await thread.waitUntilIdle()
    expect(await startsOf(thread)).toEqual(children)
    expect(family.requests('opener')).toHaveLength(2)
  })

  test('SA-A-07.6b a handoff starts the immediates of the next prompt', async () => {
    const family = await families.start({
      agent: 'opener',
      voices: {
        opener: [calls({ name: 'host_desk', args: {} })],
        host: [bootstrapped, done],
        worker: [draft],
        ...chain,
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).agent).toBe('host_desk')
    expect((await thread.snapshot()).children.map(({ name }) => name)).toEqual(['ready', 'guide'])
    expect(await orderOf(thread)).toEqual(['child', 'request', 'request', 'child', 'request'])
    expect(toolNames(family.requests('host')[0])).toEqual(['bootstrap_immediate_subagent'])
    expect(family.requests('host')[1]?.messages.at(-1)?.role).toBe('tool')
  })

  test('SA-R-07.3d SA-A-07.6c a chain of immediates is there before the first request', async () => {
    const seen: number[] = []
    const count = async (): Promise<number> => (await treeOf(family)).length
    const family: Family = await families.start({
      agent: 'opener',
      message: null,
      voices: { opener: async () => (seen.push(await count()), done), ...chain },
    })
    await family.thread.send(marked('Hello'))
    await family.thread.waitUntilIdle()
    expect(seen).toEqual([2])
    const [ready, chained] = await treeOf(family)
    expect((await ready?.snapshot())?.parent).toBe(family.thread.threadId)
    expect((await chained?.snapshot())?.parent).toBe(ready?.threadId)
    expect((await chained?.snapshot())?.agent).toBe('chained')
    // The first model that was asked is that of the innermost.
    const first = [...family.requests('last'), ...family.requests('idler'), ...family.requests('opener')]
    expect(first.map(({ prompt }) => prompt)).toEqual(['last', 'idler', 'opener'])
    expect(JSON.stringify(family.requests('idler')[0]?.messages)).toContain(marked('Ready'))
  })

  test('an immediate of side b starts before side b speaks', async () => {
    const family = await families.start({
      agent: 'two_sides',
      voices: {
        worker: [draft, draft],
        second_side: [{ text: marked('Again') }, approve('Both')],
        last: [draft],
        judge: [approve('Ready')],
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).lastRun).toMatchObject({ reason: 'session_stop' })
    expect(await startsOf(thread)).toHaveLength(1)
    expect(await orderOf(thread)).toEqual(['request', 'child', 'request', 'request', 'request'])
    expect(family.requests('second_side')[0]?.messages.some(({ role }) => role === 'tool')).toBe(true)
    expect(JSON.stringify(family.requests('worker')[1]?.messages)).not.toContain('Ready')
  })

  test('a continue of an empty thread does no more than start its immediates', async () => {
    const family = await families.start({
      agent: 'opener',
      message: null,
      voices: { opener: [done], ...chain },
    })
    const { thread } = family
    for (const _ of ['once', 'again']) {
      await thread.continue()
      await thread.waitUntilIdle()
    }
    expect(family.requests('opener')).toEqual([])
    expect(await startsOf(thread)).toHaveLength(1)
    const snapshot = await thread.snapshot()
    expect([snapshot.status, snapshot.lastRun?.reason]).toEqual(['idle', 'nothing_to_do'])
    await thread.send(marked('Hello'))
    await thread.waitUntilIdle()
    expect(family.requests('opener')).toHaveLength(1)
    expect(await startsOf(thread)).toHaveLength(1)
  })

  test('SA-A-07.6d SA-A-07.6e SA-A-07.6f what is handed to an immediate no model sees', async () => {
    const read: unknown[] = []
    const family = await families.start({
      agent: 'host',
      message: null,
      voices: {
        host: [bootstrapped, done],
        worker: [calls(act('read')), draft],
        judge: [approve('Arrived')],
      },
      tools: {
        act: async (state) => {
          read.push((await state.env('TORCH')).length, await state.env('PLACE'))
          const parent = await state.getParentThread()
          read.push((await parent?.env('GUIDE_NAME')) ?? null)
          return success
        },
      },
    })
    const { thread } = family
    await thread.setEnv({ TORCH })
    await thread.send(marked('Hello'))
    await thread.waitUntilIdle()
    expect(read).toEqual([TORCH.length, 'Florence', 'Virgil'])
    const [bootstrap] = family.requests('host')
    expect(toolNames(bootstrap)).toEqual(['bootstrap_immediate_subagent'])
    const text = JSON.stringify(bootstrap?.messages)
    for (const hint of ['Virgil', 'Show the way']) expect(text).toContain(hint)
    const all = JSON.stringify(['host', 'worker', 'judge'].flatMap((prompt) => family.requests(prompt)))
    expect(all).not.toContain(TORCH)
    expect(all).not.toContain('Florence')
    expect(family.requests('worker')[0]?.messages).toEqual([{ role: 'user', text: marked('Lead them') }])
    expect((await thread.snapshot()).children).toMatchObject([{ name: 'guide', threadName: 'Virgil' }])
    expect(await toolResults(thread)).toMatchObject([{ name: 'guide', content: marked('Arrived') }])
    expect(JSON.stringify(await factsOf(thread))).not.toContain(TORCH)
  })

  /** Children of a thread, in the order of their start. */
  async function startsOf(thread: ThreadHandle): Promise<readonly string[]> {
    return (await thread.snapshot()).children.map(({ reference }) => reference)
  }

  async function treeOf({ thread }: Family): Promise<readonly ThreadHandle[]> {
    const tree: ThreadHandle[] = []
    for (let next: ThreadHandle | undefined = thread; next !== undefined;) {
      const [entry]: readonly string[] = await startsOf(next)
      next = entry === undefined ? undefined : families.env.threads.get(entry)
      if (next !== undefined) tree.push(next)
    }
    return tree
  }

  /** Starts of children and requests to models, as the event log has them. */
  async function orderOf(thread: ThreadHandle): Promise<readonly string[]> {
    expect(activityNames(await families.runs(thread.threadId))[0]).toBe('thread.callModel')
    return (await factsOf(thread)).flatMap(({ type }) =>
      type === 'subagent.spawned' ? ['child'] : type === 'model.requested' ? ['request'] : [],
    )
  }
})

function toolNames(request: ScriptedRequest | undefined): readonly string[] {
  return request?.tools.map(({ name }) => name) ?? []
}
