import { describe, expect, test } from 'vitest'
import { defineAgent, defineHook, defineModel, definePrompt, registry } from '../../src/index.js'
import type { Message } from '../../src/protocol/message.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { getValue } from '../../src/store/threads/variables.js'
import { scriptedModel } from '../../src/testing/index.js'
import { until } from '../support/until.js'
import { attempt, drainOf, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { hookFailures } from './hook-batch.js'

const answers = (...texts: readonly string[]) => scriptedModel(texts.map((text) => ({ text })))
const step = async (desk: ActivityDesk, text = 'one') =>
  runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send(text)) }))

describe('the system text', () => {
  test('is what the last hook makes of it', () => {
    const shout = defineHook({
      hook: 'after_system_message',
      id: 'shout',
      execute: (_state, text) => text.toUpperCase(),
    })
    const sign = defineHook({
      hook: 'after_system_message',
      id: 'sign',
      execute: async (_state, text) => `${text} -- signed`,
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [shout, sign] }, async (desk) => {
      await step(desk)
      expect(chat.requests[0]?.system).toBe('YOU ARE THE CLERK. -- signed')
    })
  })

  test('a message that a hook puts in is in this very request', () => {
    const tell = defineHook({
      hook: 'after_system_message',
      id: 'tell',
      execute: async (state) => {
        await state.injectMessage({ role: 'system', content: 'The shop is closed.' })
      },
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [tell] }, async (desk) => {
      await step(desk)
      expect(chat.requests[0]?.messages.at(-1)?.text).toContain('The shop is closed.')
      expect((await desk.transcript()).map(({ content }) => content)).toEqual([
        'one',
        'The shop is closed.',
        'x',
      ])
    })
  })
})

describe('the rows of a request', () => {
  test('SA-R-04.2 are what the filter leaves, and stay stored', () => {
    const drop = defineHook({
      hook: 'filter_messages',
      id: 'drop',
      execute: (_state, messages) => messages.filter(({ content }) => content !== 'secret'),
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [drop] }, async (desk) => {
      const drain = drainOf(await desk.send('secret', 'open'))
      await runModel(desk.dependencies, modelInput({ drain }))
      expect(chat.requests[0]?.messages.map(({ text }) => text)).toEqual(['open'])
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['secret', 'open', 'x'])
    })
  })

  test('AR-TC.0 a filter may make rows up', () => {
    const add = defineHook({
      hook: 'filter_messages',
      id: 'add',
      execute: ((_state: unknown, messages: readonly Message[]) => [
        { role: 'user', content: 'Some background.' },
        ...messages,
      ]) as never,
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [add] }, async (desk) => {
      await step(desk)
      expect(chat.requests[0]?.messages.map(({ text }) => text)).toEqual(['Some background.', 'one'])
    })
  })

  test.each([['tool'], ['assistant']])('K-17 a filter that drops the %s row splits no pair', (role) =>
    withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work', args: { task: 'a' } }], 'Working.')
      await desk.store.write(async (tx) => {
        await appendMessage(tx, {
          id: 'result',
          threadId: 't',
          role: 'tool',
          name: 'work',
          toolCallId: 'call_1_1_0',
          content: 'done',
          toolStatus: 'success',
          createdAt: 1,
          sentBy: 'tool',
        })
      })
      const drop = defineHook({
        hook: 'filter_messages',
        id: 'drop',
        execute: (_state, messages) => messages.filter((message) => message.role !== role),
      })
      const chat = answers('x')
      const input = modelInput({ run: 2, drain: drainOf(await desk.send('and?')) })
      await runModel(desk.with({ chat, hooks: [drop] }), input)
      const parts = JSON.stringify(chat.requests[0]?.raw.prompt)
      const pairs = ['"tool-call"', '"tool-result"'].map((part) => parts.split(part).length - 1)
      expect(pairs).toEqual(role === 'tool' ? [1, 1] : [0, 0])
    }),
  )
})

describe('the whole request', () => {
  const block = (words: string) =>
    defineHook({
      hook: 'prefilter_llm_history',
      id: 'block',
      execute: async (state) => {
        await state.setValue('blocked', true)
        throw Object.assign(new Error(words), { block: true })
      },
    })

  test('is what the last hook makes of it', () => {
    const last = defineHook({
      hook: 'prefilter_llm_history',
      id: 'last',
      execute: (_state, messages) => messages.slice(0, 1).concat(messages.slice(-1)),
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [last] }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one', 'two')) }))
      expect(chat.requests[0]?.messages.map(({ text }) => text)).toEqual(['two'])
    })
  })

  test('a hook that blocks ends the run with its words', () => {
    const chat = answers('x')
    return withDesk({ chat, hooks: [block('Not about politics.')] }, async (desk) => {
      expect(await step(desk)).toMatchObject({ type: 'end', reason: 'hook_blocked', outcome: 'failed' })
      expect(chat.requests).toHaveLength(0)
      expect((await desk.transcript()).at(-1)).toMatchObject({
        role: 'assistant',
        content: 'Not about politics.',
        silent: false,
      })
      expect(await hookFailures(desk)).toEqual([
        ['block', 'prefilter_llm_history', 'blocked', 'Not about politics.'],
      ])
      const types = (await desk.events()).map(({ type }) => type)
      expect(types.filter((type) => type === 'step.phase')).toHaveLength(7)
      expect(types).not.toContain('model.requested')
      expect(await desk.store.read((db) => getValue(db, 't', 'blocked'))).toBe(true)
    })
  })

  test('T5 the answer of a blocked run holds no words', () =>
    withDesk({ hooks: [block('secret words')] }, async (desk) => {
      expect(JSON.stringify([await step(desk), await desk.events()])).not.toContain('secret')
    }))

  test('AR-HP.9 a hook that only throws blocks nothing', () => {
    const fails = defineHook({
      hook: 'prefilter_llm_history',
      id: 'fails',
      execute: () => {
        throw new Error('a bug')
      },
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [fails] }, async (desk) => {
      expect(await step(desk)).toMatchObject({ type: 'answered' })
      expect(await hookFailures(desk)).toEqual([['fails', 'prefilter_llm_history', 'threw', 'a bug']])
    })
  })

  test('K-17 a hook that splits a call from its result is not followed', () => {
    const split = defineHook({
      hook: 'prefilter_llm_history',
      id: 'split',
      execute: (_state, messages) => messages.filter(({ role }) => role !== 'tool'),
    })
    return withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work', args: { task: 'a' } }])
      const chat = answers('x')
      const input = modelInput({ run: 2, drain: drainOf(await desk.send('and?')) })
      await runModel(desk.with({ chat, hooks: [split] }), input)
      expect(chat.requests[0]?.messages.map(({ role }) => role)).toContain('tool')
      expect((await hookFailures(desk))[0]?.slice(0, 3)).toEqual([
        'split',
        'prefilter_llm_history',
        'invalid_answer',
      ])
    })
  })

  test('a stop does not wait for a hook of the request', () => {
    let started = false
    const slow = defineHook({
      hook: 'prefilter_llm_history',
      id: 'slow',
      execute: () => {
        started = true
        return new Promise<never>(() => undefined)
      },
    })
    return withDesk({ chat: answers('x'), hooks: [slow] }, async (desk) => {
      const environment = attempt()
      const drain = drainOf(await desk.send('one'))
      const running = runModel(desk.dependencies, modelInput({ drain }), environment)
      await until('the hook', () => started)
      environment.cancel()
      expect(await running).toMatchObject({ type: 'interrupted' })
    })
  })
})

test.each([
  ['none', 'agent'],
  ['one', 'prompt'],
])('SA-A-01.2j a prompt that lists %s runs the hook of the %s', async (listed, expected) => {
  const names = ['agent', 'prompt'] as const
  const ran: string[] = []
  const [ofAgent, ofPrompt] = names.map((id) =>
    defineHook({ hook: 'after_system_message', id, execute: () => void ran.push(id) }),
  )
  if (ofAgent === undefined || ofPrompt === undefined) throw new Error('Expected two hooks.')
  const chat = answers('x')
  const made = registry({
    models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'm' })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers',
        prompt: 'You are the clerk.',
        model: 'chat',
        hooks: listed === 'one' ? [ofPrompt.id] : [],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' }, hooks: [ofAgent.id] })],
    hooks: [ofAgent, ofPrompt],
  })
  await withDesk({}, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    await runModel({ ...desk.dependencies, registry: made }, input)
    expect(ran).toEqual([expected])
  })
})
