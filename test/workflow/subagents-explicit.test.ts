import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { Message, ThreadState } from '../../src/index.js'
import { kindsRuns } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import { act, approve, calls, create, done, draft, resultOf } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults } from '../support/thread-facts.js'
import type { Behaviour } from '../support/thread-scripts.js'
import { until } from '../support/until.js'

const success = { status: 'success', result: marked('acted') } as const

/** Of a tool of a child. */
async function parentOf(state: ThreadState): Promise<ThreadState> {
  const parent = await state.getParentThread()
  if (parent === null) throw new Error('Expected a parent.')
  return parent
}

/** Of a tool of a parent: its first child. */
async function childOf(state: ThreadState): Promise<ThreadState> {
  const child = await state.getChildThread(state.children[0]?.reference ?? '')
  if (child === null) throw new Error('Expected a child.')
  return child
}

/** A tool that does one thing for each task. */
const doing =
  (tasks: Readonly<Record<string, (state: ThreadState) => Promise<unknown>>>): Behaviour =>
  async (state, { task }) => (await tasks[String(task)]?.(state), success)

kindsRuns((families) => {
  test('SA-A-07.10h an explicit child that ends tells its parent nothing', async () => {
    const family = await families.start({
      voices: { lead: [calls(create('hermit')), done], worker: () => draft, judge: () => approve() },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const child = await family.child()
    await ended(family.thread, child)
    const before = (await thread.snapshot()).lastSequence
    // Also when somebody else asks it to work.
    await child.send(marked('Work on'))
    await until('the second session', () => family.requests('judge').length === 2)
    await child.waitUntilIdle()
    expect(await silentOf(thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(2)
    expect(await thread.snapshot()).toMatchObject({
      ...{ status: 'idle', queue: [], children: [{ status: 'completed', parentCommunication: 'explicit' }] },
    })
    const types = (await factTypes(thread)).slice(before)
    expect(types.filter((type) => type.startsWith('message.') || type.startsWith('run.'))).toEqual([])
  })

  test('a blocking explicit child that says nothing gives a neutral result', async () => {
    const family = await families.start({
      voices: { lead: [calls(create('recluse')), done], worker: [draft], judge: [approve()] },
    })
    await family.thread.waitUntilIdle()
    expect(await toolResults(family.thread)).toMatchObject([
      {
        tool_status: 'success',
        content: 'The subagent ended its session and has nothing to report by itself.',
      },
    ])
    expect(await silentOf(family.thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(2)
  })

  test('SA-A-07.10i notifyParent sends the parent one message', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(create('hermit')), done, done],
        worker: [calls(act('tell')), draft],
        judge: [approve()],
      },
      tools: { act: doing({ tell: (state) => state.notifyParent(marked('Look here')) }) },
    })
    const { thread } = family
    const child = await family.child()
    await ended(thread, child)
    await until('the message', async () => (await silentOf(thread)).length === 1)
    await thread.waitUntilIdle()
    expect(await silentOf(thread)).toMatchObject([
      { role: 'user', content: marked('Look here'), subagent_id: child.threadId, status: 'completed' },
    ])
    const asked = family
      .requests('lead')
      .filter(({ messages }) => JSON.stringify(messages).includes('Look here'))
    expect(asked.length).toBeGreaterThan(0)
  })

  test('SA-A-07.10j setStatus changes the registry and sends nothing', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [calls(create('hermit')), done],
        worker: [calls(act('status')), async () => (await gate.passed, draft)],
        judge: [approve()],
      },
      tools: { act: doing({ status: (state) => state.setStatus(marked('Half way')) }) },
    })
    const { thread } = family
    await family.child()
    await until('the next request', () => family.requests('worker').length === 2)
    expect((await thread.snapshot()).children).toMatchObject([{ status: marked('Half way') }])
    expect((await factTypes(thread)).filter((type) => type === 'subagent.status')).toHaveLength(1)
    expect(await silentOf(thread)).toEqual([])
    await thread.waitUntilIdle()
    expect(family.requests('lead')).toHaveLength(2)
    gate.open()
    await ended(thread, await family.child())
  })

  test('SA-R-07.1c a tool writes to a child, which works and reports', async () => {
    const seen: unknown[] = []
    const family = await families.start({
      voices: {
        lead: [calls(create('boarder')), done, done, calls(act('write')), done, done],
        worker: [draft, calls(act('read')), draft],
        judge: () => approve(),
      },
      tools: {
        act: doing({
          async write(state) {
            seen.push(await state.getChildThread('nobody'))
            const child = await childOf(state)
            await child.writeFile('/note.txt', marked('note'), 'text/plain')
            await child.setValue('key', marked('value'))
            await child.setEnv('CITY', marked('Bern'), { type: 'text' })
            await child.queueMessage({ role: 'user', content: marked('From a tool') })
          },
          async read(state) {
            const note = await state.readFile('/note.txt')
            seen.push(Buffer.from(note ?? new ArrayBuffer()).toString(), await state.getValue('key'))
            seen.push(await state.env('CITY'), (await parentOf(state)).threadId)
          },
        }),
      },
    })
    const { thread } = family
    const child = await family.child()
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    await thread.send(marked('Write to it'))
    await until('the report that nobody asked for', () => family.requests('lead').length === 6)
    await thread.waitUntilIdle()
    expect(seen).toEqual([null, ...['note', 'value', 'Bern'].map(marked), thread.threadId])
    const texts = family.requests('worker')[1]?.messages.map(({ text }) => text)
    expect(texts?.at(-1)).toBe(marked('From a tool'))
    const report = resultOf(child.threadId, marked('Good'))
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([report, report])
  })

  test('an effect and an end that a parent gives its child', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(create('hermit')), calls(act('remind')), done, calls(act('end')), done],
        worker: () => draft,
        judge: () => approve(),
      },
      tools: {
        act: doing({
          remind: async (state) =>
            (await childOf(state)).scheduleEffect('remind', { note: marked('Wake up') }, 100),
          end: async (state) => (await childOf(state)).terminate(),
        }),
      },
    })
    const { thread } = family
    const child = await family.child()
    await until('the effect', () => JSON.stringify(family.requests('worker')).includes('Wake up'))
    await child.waitUntilIdle()
    await thread.waitUntilIdle()
    await thread.send(marked('End it'))
    await until('a closed child', async () => (await child.workflow.describe()).status.name !== 'RUNNING')
    await thread.waitUntilIdle()
    expect((await child.snapshot()).status).toBe('terminated')
    await until('the registry', async () => (await thread.snapshot()).children[0]?.status === 'terminated')
    expect(await silentOf(thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(5)
    expect((await thread.snapshot()).status).toBe('idle')
  })

  async function ended(thread: ThreadHandle, child: ThreadHandle): Promise<void> {
    await until('a session', async () => (await thread.snapshot()).children[0]?.status === 'completed')
    await child.waitUntilIdle()
  }

  async function silentOf(thread: ThreadHandle): Promise<readonly Message[]> {
    return (await thread.messages({ includeSilent: true })).messages.filter(({ silent }) => silent)
  }
})
