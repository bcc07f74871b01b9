import { expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import { calls } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factTypes, factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import type { Behaviour } from '../support/thread-scripts.js'
import { unscripted } from '../support/unscripted.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Works', prompt: 'You work.', model: 'voice' },
      ...{ includeChat: true, tools: ['work'] },
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' }, hooks: ['guard'] })],
  tools: {
    work: defineTool({
      description: 'Works',
      args: z.object({ task: z.string() }),
      execute: () => Promise.reject(new Error('Expected the tool to be faked by the test.')),
    }),
  },
  hooks: [
    defineHook({
      hook: 'before_create_message',
      id: 'guard',
      execute: (_state, { content }) => {
        if (content?.includes('forbidden') === true) throw new Error('words that are forbidden')
      },
    }),
  ],
})

const scripts = createFamilyScripts(desk)

threeModes({ registry: desk, models: scripts.models, tools: scripts.tools }, (mode) => {
  /** A thread whose tool runs. */
  async function working(name: string, work: Behaviour) {
    const id = `${name}-${mode.mode.replaceAll(' ', '-')}`
    const script = [calls({ name: 'work', args: { task: marked('it') } }), { text: marked('Done') }]
    scripts.script(id, mode.env.store, {
      voices: { clerk: script },
      tools: { work },
    })
    const thread = await mode.env.threads.create({ agent: 'clerk', id })
    const send = async (text: string) => (await thread.send(marked(text))).messageId
    const first = await send('Do it')
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    return { thread, send, first, endOf: async (of: string) => (await thread.message(of))?.end }
  }

  test('T3 each message of a thread has one end: it is delivered, refused by a hook, or taken back', async () => {
    const gate = createGate()
    const work: Behaviour = async () => (await gate.passed, { status: 'success', result: marked('ok') })
    const { thread, send, first, endOf } = await working('ends', work)
    const back = await send('Not this')
    expect(await thread.message(back)).toMatchObject({ message: { status: 'pending' }, end: null })
    await thread.removeQueued(back)
    const bad = await send('forbidden')
    gate.open()
    await thread.waitUntilIdle()
    expect(await endOf(first)).toEqual({ kind: 'delivered', runId: 'run_1' })
    expect(await endOf(bad)).toEqual({ kind: 'refused', hook: 'guard' })
    expect(await endOf(back)).toEqual({ kind: 'removed' })
    expect(await thread.message('nothing')).toBeNull()
    const ends = (await factsOf(thread)).filter(({ type }) => /^message\.(created|ended)$/.test(type))
    expect(ends.filter(({ messageId = '' }) => [first, bad, back].includes(messageId))).toMatchObject([
      { type: 'message.created', messageId: first },
      { type: 'message.ended', messageId: back, payload: { end: 'removed' } },
      { type: 'message.ended', messageId: bad, payload: { end: 'refused', hook: 'guard' } },
    ])
  })

  test('T3 a message that waits when its thread closes is rejected, and says how the thread ended', async () => {
    const { thread, send, first, endOf } = await working('closes', untilAborted)
    const late = await send('And this')
    await thread.terminate()
    await until('the end of the message', async () => (await endOf(late)) !== null)
    expect(await endOf(late)).toEqual({ kind: 'rejected', threadStatus: 'terminated' })
    expect(await endOf(first)).toEqual({ kind: 'delivered', runId: 'run_1' })
    const last = (await factsOf(thread)).slice(-2)
    expect(last).toMatchObject([
      { type: 'message.ended', messageId: late, payload: { end: 'rejected' } },
      { type: 'thread.closed', payload: { rejected: 1 } },
    ])
  })
})
