import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { kindsRuns } from '../support/family-runs.js'
import {
  approve,
  calls,
  create,
  done,
  draft,
  failureOf,
  giveUp,
  order,
  resultOf,
  write,
} from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const tasks = (name: string, ...titles: readonly string[]) => ({
  name,
  args: { items: titles.map((title) => ({ task: marked(title), title })) },
})
const ask = { name: 'ask', args: {} }
/** What a worker was told, whichever child it is. */
const told = ({ messages }: ScriptedRequest, text: string): boolean => JSON.stringify(messages).includes(text)

kindsRuns((families) => {
  families.skippingTime('KP-08.3 a blocking call that takes too long ends with its child', async () => {
    const family = await families.start({
      voices: { lead: [calls(order('helper')), done], worker: [calls(ask)] },
    })
    const { thread } = family
    const child = await family.child()
    // No time is skipped while an activity runs: the child waits for somebody.
    await asked(child)
    await families.env.sleep('61 minutes')
    await thread.waitUntilIdle()
    const [result] = await toolResults(thread)
    expect(result).toMatchObject({ name: 'helper', tool_status: 'error' })
    expect(result?.content).toContain('did not answer within 3600 seconds')
    await closed(child)
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
    expect((await child.snapshot()).status).toBe('terminated')
    // What it would still say is ignored.
    expect(await silentOf(thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(2)
  })

  families.skippingTime('a resumable child that was late reports by a message', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(create('resident')), done, done],
        worker: [calls(ask), draft],
        judge: [approve('Late')],
      },
    })
    const { thread } = family
    const child = await family.child()
    const requestId = await asked(child)
    await families.env.sleep('121 minutes')
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toContain(
      'It goes on; what it reports comes as a message.',
    )
    expect((await child.snapshot()).status).toBe('waiting_permission')
    await child.respond(requestId, { approved: true })
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([
      resultOf(child.threadId, marked('Late')),
    ])
    expect((await child.snapshot()).status).toBe('idle')
  })

  test('KP-08.4 a fan-out that waits gives one result for all, failures too', async () => {
    const gates = ['One', 'Two', 'Three'].map(() => createGate())
    const family = await families.start({
      voices: {
        lead: [calls(tasks('crew', 'One', 'Two', 'Three')), done],
        worker: async (request) => {
          const at = ['One', 'Two', 'Three'].findIndex((name) => told(request, name))
          await gates[at]?.passed
          return at === 1 ? giveUp('Two failed') : draft
        },
        judge: () => approve('Fine'),
      },
    })
    const { thread } = family
    // All work at the same time.
    await until('three requests', () => family.requests('worker').length === 3)
    const children = await family.children()
    for (const gate of gates.toReversed()) gate.open()
    await thread.waitUntilIdle()
    const results = await toolResults(thread)
    expect(results).toHaveLength(1)
    expect(results[0]).toMatchObject({ name: 'crew', tool_status: 'success' })
    const ids = children.map(({ threadId }) => threadId)
    const text = results[0]?.content ?? ''
    for (const id of ids) expect(text).toContain(id)
    expect(text).toContain(`has reported a failure:\n${marked('Two failed')}`)
    expect(text.split('has returned the following result').length - 1).toBe(2)
    const registry = (await thread.snapshot()).children
    expect(registry.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed'])
    expect(new Set(registry.map(({ spawnGroupId }) => spawnGroupId)).size).toBe(1)
    expect(registry[0]?.spawnGroupId).toEqual(expect.any(String))
    expect(await silentOf(thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(2)
  })

  test('a fan-out that does not wait is told of once, when all have ended', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [calls(tasks('scouts', 'One', 'Two')), done, done],
        worker: async (request) => (told(request, 'Two') ? (await gate.passed, giveUp('Lost')) : draft),
        judge: () => approve('Found'),
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const [one, two] = await family.children()
    await closed(one)
    expect(await silentOf(thread)).toEqual([])
    expect(family.requests('lead')).toHaveLength(2)
    gate.open()
    await until('the report', () => family.requests('lead').length === 3)
    await closed(two)
    await thread.waitUntilIdle()
    const [message, ...others] = await silentOf(thread)
    expect(others).toEqual([])
    expect(message?.content).toContain(
      `(reference: ${one?.threadId}) has returned the following result:\n${marked('Found')}`,
    )
    expect(message?.content).toContain(
      `(reference: ${two?.threadId}) has reported a failure:\n${marked('Lost')}`,
    )
    expect(family.requests('lead')).toHaveLength(3)
  })

  test('a stop that leaves the children lets them end, and report by a message', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [calls(order('helper')), done],
        worker: [async () => (await gate.passed, draft)],
        judge: [approve('Ready')],
      },
    })
    const { thread } = family
    const child = await family.child()
    await until('the request of the child', () => family.requests('worker').length === 1)
    await thread.stop({ children: false })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
    expect((await child.snapshot()).status).toBe('running')
    expect((await toolResults(thread))[0]?.content).toContain('interrupted')
    gate.open()
    await closed(child)
    await until('the report', async () => (await thread.snapshot()).queue.length === 1)
    expect((await child.snapshot()).lastRun).toMatchObject({ reason: 'session_stop' })
    await thread.continue()
    await thread.waitUntilIdle()
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([
      resultOf(child.threadId, marked('Ready')),
    ])
    expect(await toolResults(thread)).toHaveLength(1)
  })

  test('a stop of the parent stops a resumable child, which stays', async () => {
    const family = await families.start({
      voices: {
        lead: [
          calls(create('resident')),
          async () => calls(write((await family.child()).threadId, 'Again')),
          done,
        ],
        worker: [() => new Promise(() => undefined), draft],
        judge: () => approve('Ready'),
      },
    })
    const { thread } = family
    const child = await family.child()
    await until('the request of the child', () => family.requests('worker').length === 1)
    await thread.stop()
    await thread.waitUntilIdle()
    await child.waitUntilIdle()
    await until('the report', async () => (await thread.snapshot()).queue.length === 1)
    expect((await child.snapshot()).status).toBe('stopped')
    await thread.continue()
    await thread.waitUntilIdle()
    // Its user is its parent, whose message clears the stop.
    expect((await toolResults(thread))[1]).toMatchObject({ name: 'subagent_message', tool_status: 'success' })
    const text = 'The session ended without a result (stopped): it was interrupted.'
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([failureOf(child.threadId, text)])
    expect((await child.snapshot()).status).toBe('idle')
  })

  test('T7 a message that crosses the result of an older session waits for its own', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [
          calls(create('resident')),
          done,
          async () => calls(write((await family.child()).threadId, 'Second')),
          done,
        ],
        worker: () => draft,
        judge: [approve('One'), async () => (await gate.passed, approve('Unasked')), approve('Two')],
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const child = await family.child()
    await child.send(marked('From a client'))
    await until('the last request of that session', () => family.requests('judge').length === 2)
    await thread.send(marked('Ask it'))
    await until('the message', async () => (await child.snapshot()).queue.length === 1)
    gate.open()
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ content }) => content)).toEqual(
      ['One', 'Two'].map((text) => marked(text)),
    )
    expect((await silentOf(thread)).map(({ content, status }) => [content, status])).toEqual([
      [resultOf(child.threadId, marked('Unasked')), 'completed'],
    ])
    expect(family.requests('lead')).toHaveLength(4)
  })

  test('a session that a client asked for is reported to the parent as well', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(create('resident')), done, done],
        worker: () => draft,
        judge: [approve('One'), approve('Unasked')],
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const child = await family.child()
    await child.send(marked('From a client'))
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([
      resultOf(child.threadId, marked('Unasked')),
    ])
    expect(await toolResults(thread)).toHaveLength(1)
  })

  /** Waits until the child's tool waits for a person. */
  async function asked(child: ThreadHandle): Promise<string> {
    return until('a request', async () => (await child.snapshot()).pending[0]?.id)
  }

  async function closed(thread: ThreadHandle | undefined): Promise<void> {
    if (thread === undefined) throw new Error('Expected a child.')
    await until('a closed workflow', async () => (await thread.workflow.describe()).status.name !== 'RUNNING')
  }

  async function silentOf(thread: ThreadHandle): Promise<readonly Message[]> {
    const { messages } = await thread.messages({ includeSilent: true })
    return messages.filter(({ silent, role }) => silent && role === 'user')
  }
})
