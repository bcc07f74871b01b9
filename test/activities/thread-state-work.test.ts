import { describe, expect, test } from 'vitest'
import { defineModel, defineTool, registry } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { readEvents } from '../../src/store/events.js'
import { findMessage, listMessages } from '../../src/store/messages/transcript.js'
import type { Store } from '../../src/store/store.js'
import { effectOptions, withThread } from './buffered-call.js'
import { CUSTOM_EVENT_BYTES, CUSTOM_EVENTS_BY_CALL } from '../../src/activities/thread-state/work.js'

const tools = {
  registry: registry({
    agents: [],
    prompts: [],
    models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
    tools: { notify: defineTool({ description: 'Notifies', execute: () => ({ status: 'success' }) }) },
  }),
}

const eventsOf = (store: Store) =>
  store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 2000 }))

describe('a queued tool', () => {
  test('of a step is stored with a row that holds it', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      call.state.queueTool('notify', { to: 'ann' })
      expect(await store.read((db) => findToolCall(db, 't', 'call_1_2_0_q0'))).toBeNull()
      expect((await commit(call)).operations).toEqual([
        { kind: 'queue_tool', id: 'call_1_2_0_q0', name: 'notify' },
      ])
      const row = await store.read((db) => findToolCall(db, 't', 'call_1_2_0_q0'))
      expect(row).toMatchObject({ run: 1, step: 2, side: 'a', arguments: '{"to":"ann"}', status: 'open' })
      const holder = await store.read((db) => findMessage(db, 't', row?.message_id ?? ''))
      expect(holder).toMatchObject({ role: 'assistant', position: 2, metadata: { queued: true } })
      const all = { threadId: 't', includeSilent: true }
      const { messages } = await store.read((db) => listMessages(db, all))
      expect(messages[0]).toMatchObject({
        ...{ role: 'system', silent: true, position: 1 },
        metadata: { status_kind: 'runtime_tool_invocation', tool: 'notify', tool_call_id: 'call_1_2_0_q0' },
      })
      expect(JSON.parse(holder?.tool_calls ?? '')).toEqual([
        { id: 'call_1_2_0_q0', type: 'function', function: { name: 'notify', arguments: '{"to":"ann"}' } },
      ])
    }, tools))

  test('of an effect waits without a place, as one of a client', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open('x', effectOptions('effect_1'))
      call.state.queueTool('notify', {})
      expect((await commit(call)).operations).toMatchObject([{ id: 'effect_1_q0' }])
      const { messages } = await store.read((db) => listMessages(db, { threadId: 't' }))
      expect(messages).toMatchObject([{ position: null, status: 'pending', metadata: { queued: true } }])
    }, tools))

  test('T5 of an unknown name is accepted, and unnamed to the workflow', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      call.state.queueTool('what a model wrote', {})
      expect((await commit(call)).operations).toMatchObject([{ kind: 'queue_tool', name: '(unknown)' }])
      const row = await store.read((db) => findToolCall(db, 't', 'call_1_2_0_q0'))
      expect(row?.name).toBe('what a model wrote')
    }, tools))

  test('is refused without a name, without JSON, and beyond 50', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      expect(() => call.state.queueTool('', {})).toThrow('1 to 128 characters')
      expect(() => call.state.queueTool('notify', { at: 1n } as never)).toThrow('bigint')
      for (let number = 0; number < LIMITS.queuedByCall; number += 1) call.state.queueTool('notify', {})
      expect(() => call.state.queueTool('notify', {})).toThrow('at most 50')
      expect((await commit(call)).operations).toHaveLength(50)
    }, tools))
})

describe('operations', () => {
  test('T9 come in the order of what the call did', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      const { state } = call
      state.execution?.forceTurn('a')
      state.queueTool('notify', {})
      await state.queueMessage({ role: 'user', content: 'next' })
      await state.setEnv('CITY', 'Bern', { type: 'text' })
      await state.terminate()
      state.execution?.stop()
      const kinds = (await commit(call)).operations.map(({ kind }) => kind)
      expect(kinds).toEqual(['force_turn', 'queue_tool', 'queue_message', 'set_env', 'terminate', 'stop_run'])
    }, tools))

  test('execution says what this call asked for', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      expect(state.execution).toMatchObject({ stopped: false, stoppedBy: null })
      state.execution?.stop()
      expect(state.execution).toMatchObject({ stopped: true, stoppedBy: 'a' })
      expect(() => state.execution?.forceTurn('c' as never)).toThrow('side "a" or "b"')
    }))

  test('execution is refused after the end of the call', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      const { execution } = call.state
      call.close()
      expect(() => execution?.stop()).toThrow('call_1_2_0 has ended')
      expect(() => execution?.stopped).toThrow('call_1_2_0 has ended')
      expect((await commit(call)).operations).toEqual([])
    }))
})

describe('emitted events', () => {
  test('are stored at once, whatever becomes of the call', () =>
    withThread(async ({ store, open }) => {
      const call = await open()
      for (let done = 0; done < 3; done += 1) call.state.emit('progress', { done })
      call.close()
      await call.waitForWork()
      const events = await eventsOf(store)
      expect(events.map(({ type, payload }) => [type, payload['data']])).toEqual([
        ['custom', { done: 0 }],
        ['custom', { done: 1 }],
        ['custom', { done: 2 }],
      ])
      expect(events[0]?.scope).toEqual({ runId: 'run_1', stepId: 'step_1_2', toolCallId: 'call_1_2_0' })
    }))

  test('are refused when they are large, no JSON, or too many', () =>
    withThread(async ({ store, open }) => {
      const call = await open()
      const { state } = call
      expect(() => state.emit('', 1)).toThrow('1 to 128 characters')
      expect(() => state.emit('progress', undefined as never)).toThrow('got undefined')
      expect(() => state.emit('progress', 'x'.repeat(CUSTOM_EVENT_BYTES))).toThrow('write a file')
      for (let number = 0; number < CUSTOM_EVENTS_BY_CALL; number += 1) state.emit('progress', number)
      expect(() => state.emit('progress', 1)).toThrow('at most 1000')
      await call.waitForWork()
      expect(await eventsOf(store)).toHaveLength(CUSTOM_EVENTS_BY_CALL)
    }))
})

describe('definitions and tools in place', () => {
  test('definitions are loaded by name, or refused', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      expect(state.getModelNames()).toEqual(['chat'])
      expect([state.getAgentNames(), state.getPromptNames()]).toEqual([[], []])
      expect(await state.loadModel('chat')).toMatchObject({ name: 'chat', model: 'm' })
      await expect(state.loadModel('other')).rejects.toThrow('a registered model, got "other"')
      await expect(state.loadAgent('chat')).rejects.toThrow('a registered agent')
      await expect(state.loadPrompt('chat')).rejects.toThrow('a registered prompt')
    }, tools))

  test('T9 what an invoked tool writes joins the call', () =>
    withThread(async ({ open, commit }) => {
      const call = await open('call_1_2_0', {
        invokeTool: async (name, args, { state }) => {
          await state.queueMessage({ role: 'user', content: `${name} ${JSON.stringify(args)}` })
          return { status: 'success', result: 'done' }
        },
      })
      expect(await call.state.invokeTool('notify', { to: 'ann' })).toEqual({
        status: 'success',
        result: 'done',
      })
      expect((await commit(call)).operations).toMatchObject([{ kind: 'queue_message' }])
    }, tools))

  test('where nothing can be invoked the sentence names queueTool', () =>
    withThread(async ({ open }) => {
      await expect((await open()).state.invokeTool('notify', {})).rejects.toThrow('use queueTool')
    }))
})

describe('messages of an effect', () => {
  test('say which effect wrote them, outside of any run', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open('x', effectOptions('effect_1'))
      expect(call.state.execution).toBeNull()
      const { id } = await call.state.injectMessage({ role: 'user', content: 'one', metadata: { by: 'me' } })
      await call.state.queueMessage({ role: 'user', content: 'two' })
      call.state.context['lost'] = true
      await commit(call)
      const scheduledEffect = { id: 'effect_1', name: 'remind' }
      const { messages } = await store.read((db) => listMessages(db, { threadId: 't' }))
      expect(messages.map(({ metadata }) => metadata)).toEqual([
        { by: 'me', scheduledEffect },
        { scheduledEffect },
      ])
      expect(id).toBe('t:effect_1:0')
      expect((await eventsOf(store))[0]?.scope).toEqual({ messageId: id })
    }))
})

describe('files', () => {
  test('K-12 a path that is not there has no record', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      expect(await state.statFile('/missing.png')).toBeNull()
      expect(await state.readFile('/missing.png')).toBeNull()
      expect(await state.readFileStream('/missing.png')).toBeNull()
      await state.writeFile('/a.png', 'x', 'image/png')
      expect(await state.getFileThumbnail('/a.png')).toBeNull()
    }))
})

describe('hooks of messages', () => {
  const hooks = {
    beforeCreate: async (_state: unknown, message: object) => ({ ...message, content: 'masked' }),
    afterCreate: async () => undefined,
    beforeUpdate: async () => ({ content: 'masked too' }),
    afterUpdate: async () => undefined,
  } as never

  test('change what is injected and what is updated', () =>
    withThread(async ({ open }) => {
      const { state } = await open('call_1_2_0', { messageHooks: hooks })
      const message = await state.injectMessage({ role: 'user', content: '4111 1111' })
      expect(message.content).toBe('masked')
      expect(await state.updateMessage(message.id, { content: 'x' })).toMatchObject({ content: 'masked too' })
    }))
})
