import { describe, expect, test } from 'vitest'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import { defineHook } from '../../src/definitions/hook.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import type { ToolResult } from '../../src/index.js'
import type { PrepareChildAnswer } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { listMessages } from '../../src/store/messages/transcript.js'
import { getValue } from '../../src/store/threads/variables.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, PLAIN_CALL, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { hookFailures } from './hook-batch.js'
import { lastResult, storedValue, success } from './tool-outcomes.js'

const after = (status: 'success' | 'failure', execute: (result: ToolResult) => unknown) =>
  defineHook({
    hook: status === 'success' ? 'after_tool_call_success' : 'after_tool_call_failure',
    id: `after_${status}`,
    execute: ((_state: unknown, _call: unknown, result: ToolResult) => execute(result)) as never,
  })

const fails: DeskParts['work'] = () => {
  throw new Error('no connection')
}

async function ran(
  parts: DeskParts,
  work: (desk: ActivityDesk, answer: unknown) => Promise<void>,
): Promise<void> {
  await withDesk(parts, async (desk) => {
    const input = await desk.call('work')
    await work(desk, await desk.run(input))
  })
}

describe('the result of a tool', () => {
  test('is what the hooks make of it, in their order', () => {
    const shout = after('success', ({ result }) => success(JSON.stringify(result).toUpperCase()))
    const sign = defineHook({
      hook: 'before_store_tool_result',
      id: 'sign',
      execute: (_state, { name }, result) => ({
        ...result,
        result: `${JSON.stringify(result.result)} by ${name}`,
      }),
    })
    return ran({ work: () => success('done'), hooks: [sign, shout] }, async (desk) => {
      expect((await lastResult(desk))?.content).toBe('"\\"DONE\\"" by work')
    })
  })

  test('a hook may turn a failure into a success', () =>
    ran({ work: fails, hooks: [after('failure', () => success('from the cache'))] }, async (desk, answer) => {
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(desk)).toMatchObject({ content: 'from the cache', tool_status: 'success' })
    }))

  test('a failure meets no hook of successes', () =>
    ran({ work: fails, hooks: [after('success', () => success('never'))] }, async (desk) => {
      expect((await lastResult(desk))?.content).toBe('Error: no connection')
    }))

  test('bad arguments meet the hook of failures', () =>
    withDesk(
      { hooks: [after('failure', (result) => ({ ...result, error: 'Try it otherwise.' }))] },
      async (desk) => {
        const input = await desk.call('work', { task: 7 })
        await desk.run(input)
        expect((await lastResult(desk))?.content).toBe('Error: Try it otherwise.')
      },
    ))

  test('what a hook answers wrongly is recorded, the result kept', () =>
    ran({ work: () => success('done'), hooks: [after('success', () => 'words')] }, async (desk) => {
      expect((await lastResult(desk))?.content).toBe('done')
      expect((await hookFailures(desk))[0]?.slice(0, 3)).toEqual([
        'after_success',
        'after_tool_call_success',
        'invalid_answer',
      ])
    }))

  test('its row meets the create hooks, with its files', () => {
    const mask = defineHook({
      hook: 'before_create_message',
      id: 'mask',
      execute: (_state, message) => ({ ...message, content: message.content?.replace('1234', '#') ?? null }),
    })
    const file = { name: 'a.txt', mimeType: 'text/plain', data: Buffer.from('bytes') }
    const work = () => ({ ...success('card 1234'), attachments: [file] })
    return ran({ work, hooks: [mask] }, async (desk) => {
      const row = await lastResult(desk)
      expect(row?.content).toBe('card #')
      expect(row?.attachments).toMatchObject([{ path: '/attachments/a.txt', size: 5 }])
    })
  })

  test('T9 hooks see what the tool wrote, and write with it', () => {
    const count = defineHook({
      hook: 'before_store_tool_result',
      id: 'count',
      execute: async (state) => {
        await state.setValue('count', Number(await state.getValue('count')) + 1)
      },
    })
    const work: DeskParts['work'] = async (state) => {
      await state.setValue('count', 41)
      return success('done')
    }
    return ran({ work, hooks: [count] }, async (desk) => {
      expect(await storedValue(desk, 'count')).toBe(42)
    })
  })
})

describe('a call that a hook erases', () => {
  test('leaves the transcript, and is done for the workflow', () =>
    ran({ work: () => success('done'), hooks: [after('success', () => null)] }, async (desk, answer) => {
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await desk.transcript()).map(({ role }) => role)).toEqual(['user'])
      const call = await desk.store.read((db) => findToolCall(db, 't', 'call_1_1_0'))
      expect(call).toMatchObject({ status: 'succeeded', result_message_id: null })
      expect((await desk.events()).map(({ type }) => type)).toContain('message.deleted')
    }))

  test('words and other calls of its row stay', () =>
    withDesk({ work: () => success('done'), hooks: [after('success', () => null)] }, async (desk) => {
      const calls = await desk.calls([{ name: 'work' }, { name: 'again' }], 'Looking.')
      const [first] = calls
      if (first === undefined) throw new Error('Expected a call.')
      await desk.run(first)
      const row = (await desk.transcript()).at(-1)
      expect(row).toMatchObject({ role: 'assistant', content: 'Looking.' })
      expect(row?.tool_calls).toContain('call_1_1_1')
      expect(row?.tool_calls).not.toContain('call_1_1_0')
    }))
})

describe('messages that a tool puts in or changes', () => {
  const guard = defineHook({
    hook: 'before_create_message',
    id: 'guard',
    execute: (_state, message) => {
      if (message.content === 'forbidden') throw new Error('Not that.')
      return { ...message, content: `${message.content ?? ''}!` }
    },
  })

  test('a hook that throws keeps an injected message out', () => {
    let refused: unknown
    const work: DeskParts['work'] = async (state) => {
      await state
        .injectMessage({ role: 'system', content: 'forbidden' })
        .catch((error: unknown) => (refused = error))
      await state.injectMessage({ role: 'system', content: 'allowed' })
      return success('done')
    }
    return ran({ work, hooks: [guard] }, async (desk) => {
      expect(String(refused)).toContain('Not that.')
      const texts = (await desk.transcript()).map(({ content }) => content)
      expect(texts).toContain('allowed!')
      expect(texts.join()).not.toContain('forbidden')
    })
  })

  test('an update meets its hooks', () => {
    const seen: unknown[] = []
    const before = defineHook({
      hook: 'before_update_message',
      id: 'before',
      execute: (_state, _id, updates) => ({ ...updates, content: `${updates.content ?? ''} (edited)` }),
    })
    const told = defineHook({
      hook: 'after_update_message',
      id: 'told',
      execute: (_state, { content }) => void seen.push(content),
    })
    const work: DeskParts['work'] = async (state) => {
      await state.updateMessage('m0', { content: 'new' })
      return success('done')
    }
    return withDesk({ work, hooks: [before, told] }, async (desk) => {
      const [id] = await desk.send('old')
      await runModel(
        desk.with({ chat: scriptedModel([{ text: 'x' }]), hooks: [] }),
        modelInput({ run: 9, drain: drainOf([id ?? '']) }),
      )
      await desk.store.write((tx) =>
        tx
          .updateTable('messages')
          .set({ id: 'm0' })
          .where('id', '=', id ?? '')
          .execute(),
      )
      const input = await desk.call('work')
      await desk.run(input)
      expect((await desk.transcript())[0]?.content).toBe('new (edited)')
      expect(seen).toEqual(['new (edited)'])
    })
  })
})

describe('a new subagent', () => {
  test('is seen before its first message', () => {
    const created = defineHook({
      hook: 'after_subagent_created',
      id: 'created',
      execute: async (state, child) => {
        await child.injectMessage({ role: 'system', content: `You work for ${state.threadId}.` })
        await child.setValue('parent', state.threadId)
        await state.setValue('child', child.threadId)
      },
    })
    return withDesk({ hooks: [created] }, async (desk) => {
      const input = await desk.call('pair', { task: 'Look.' })
      const answer: PrepareChildAnswer = await attempt().run(
        (given: typeof input) => prepareChild(desk.dependencies, { ...given, children: 0, open: 0 }),
        input,
      )
      if (answer.type !== 'children') throw new Error(`Expected a child, got ${answer.type}.`)
      const threadId = answer.children[0]?.reference ?? ''
      const { messages } = await desk.store.read((db) => listMessages(db, { threadId }))
      expect(messages.map(({ content, status }) => [content, status])).toEqual([
        ['You work for t.', 'completed'],
        ['Look.', 'pending'],
      ])
      expect(await storedValue(desk, 'child')).toBe(threadId)
      expect(await desk.store.read((db) => getValue(db, threadId, 'parent'))).toBe('t')
    })
  })

  test('cannot be queued anything before it runs', () => {
    const created = defineHook({
      hook: 'after_subagent_created',
      id: 'created',
      execute: async (_state, child) => child.queueMessage({ role: 'user', content: 'more' }),
    })
    return withDesk({ hooks: [created] }, async (desk) => {
      const input = await desk.call('pair', { task: 'Look.' })
      await attempt().run(
        (given: typeof input) => prepareChild(desk.dependencies, { ...given, children: 0, open: 0 }),
        input,
      )
      expect((await hookFailures(desk))[0]?.slice(0, 3)).toEqual([
        'created',
        'after_subagent_created',
        'threw',
      ])
    })
  })
})

test('hooks of a step and a tool call run in the documented order', () => {
  const order: string[] = []
  const points = [
    'before_store_tool_result',
    'after_create_message',
    'after_tool_call_success',
    'before_create_message',
    'prefilter_llm_history',
    'filter_messages',
    'after_system_message',
    'after_thread_created',
  ] as const
  const hooks = points.map((hook) =>
    defineHook({ hook, id: hook, execute: (() => void order.push(hook)) as never }),
  ) as unknown as readonly AnyHook[]
  const chat = scriptedModel([{ toolCalls: [{ name: 'work', args: {} }] }])
  return withDesk({ chat, hooks, work: () => success('done') }, async (desk) => {
    const answer = await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
    if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
    await desk.run({
      ...modelInput(),
      ...PLAIN_CALL,
      plan: answer.plan?.digest ?? '',
      callId: 'call_1_1_0',
      name: 'work',
      sideSteps: { a: 1, b: 0 },
      first: true,
      last: true,
    })
    expect(order).toEqual([
      'after_thread_created',
      // The message of the user.
      'before_create_message',
      'after_create_message',
      'after_system_message',
      'filter_messages',
      'prefilter_llm_history',
      // The answer of the model.
      'before_create_message',
      'after_create_message',
      'after_tool_call_success',
      'before_store_tool_result',
      // The row of the result.
      'before_create_message',
      'after_create_message',
    ])
  })
})
