import { describe, expect, test } from 'vitest'
import { readEvents } from '../../src/store/events.js'
import { appendMessage, deliverMessages } from '../../src/store/messages/delivery.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { findMessage, listMessages } from '../../src/store/messages/transcript.js'
import type { Store } from '../../src/store/store.js'
import { readSharedContext } from '../../src/store/threads/runs.js'
import { requestTermination } from '../../src/store/threads/threads.js'
import { getValue, listValues } from '../../src/store/threads/variables.js'
import { NOW, withThread } from './buffered-call.js'

const ENDED = /call_1_2_0 has ended/

/** A transcript of `m1` to `mN`, and the queued messages `q1` and `q2`. */
async function fillThread(store: Store, count: number): Promise<void> {
  await store.write(async (tx) => {
    const common = { threadId: 't', role: 'user', createdAt: 1, sentBy: 'client' } as const
    for (let number = 1; number <= count; number++)
      await appendMessage(tx, { ...common, id: `m${number}`, content: `m${number}`, silent: number === 2 })
    for (const id of ['q1', 'q2']) await stageMessage(tx, { ...common, id, content: id, digest: id })
  })
}

describe('properties and context', () => {
  test('properties are those of the thread and the run', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      expect(state).toMatchObject({ threadId: 't', agentId: 'support', userId: 'anna', createdAt: 7_000_000 })
      expect(state.terminated).toBeNull()
      expect(state.execution).toMatchObject({ flowId: 'run_1', stepCount: 2, promptPath: ['desk'] })
      expect(state.context).toEqual({})
    }))

  test('context goes from one call of a run to the next', () =>
    withThread(async ({ store, open, commit }) => {
      const first = await open()
      first.state.context['seen'] = ['A-17']
      expect(await store.read((db) => readSharedContext(db, { threadId: 't', number: 1 }))).toEqual({})
      await commit(first)
      expect((await open('call_1_2_1')).state.context).toEqual({ seen: ['A-17'] })
    }))

  test('context that is no JSON is named and the rest is kept', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      call.state.context['user'] = { visits: [1, Number.NaN] }
      await call.state.setValue('kept', true)
      expect(call.contextProblem()).toBe('Expected JSON at context.user.visits[1], got NaN.')
      await commit(call)
      expect(await store.read((db) => readSharedContext(db, { threadId: 't', number: 1 }))).toEqual({})
      expect(await store.read((db) => getValue(db, 't', 'kept'))).toBe(true)
    }))

  test('context changed after the end of the call is not saved', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      const { context } = call.state
      context['at'] = 'end'
      call.close()
      context['at'] = 'later'
      await commit(call)
      expect(await store.read((db) => readSharedContext(db, { threadId: 't', number: 1 }))).toEqual({
        at: 'end',
      })
    }))
})

describe('values', () => {
  test('T9 values are seen by the call alone until its commit', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      await call.state.setValue('order', { id: 'A-17' })
      expect(await call.state.getValue('order')).toEqual({ id: 'A-17' })
      expect(await store.read((db) => listValues(db, 't'))).toEqual({})
      await commit(call)
      expect(await store.read((db) => listValues(db, 't'))).toEqual({ order: { id: 'A-17' } })
    }))

  test('a value that is undefined is deleted', () =>
    withThread(async ({ store, open, commit }) => {
      const first = await open()
      await first.state.setValue('order', 1)
      await commit(first)
      const second = await open('call_1_2_1')
      expect(await second.state.getValue('order')).toBe(1)
      await second.state.setValue('order', undefined)
      expect(await second.state.getValue('order')).toBeNull()
      await commit(second)
      expect(await store.read((db) => listValues(db, 't'))).toEqual({})
    }))

  test('a value is kept as it was when it was set', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      const order = { items: ['chair'] }
      await state.setValue('order', order)
      order.items.push('table')
      expect(await state.getValue('order')).toEqual({ items: ['chair'] })
    }))

  test('a value that is no JSON is refused with its path', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      const value = { when: [new Date()] } as never
      await expect(state.setValue('order', value)).rejects.toThrow(
        'the value of "order".when[0], got an object of class Date',
      )
      await expect(state.setValue('', 1)).rejects.toThrow('1 to 256 characters')
    }))
})

describe('messages', () => {
  test('an injected message ends the transcript at the commit', () =>
    withThread(async ({ store, open, commit }) => {
      await fillThread(store, 1)
      const call = await open()
      const message = await call.state.injectMessage({
        role: 'system',
        content: 'Note',
        metadata: { by: 'tool' },
      })
      expect(message).toMatchObject({
        id: 't:call_1_2_0:0',
        position: null,
        status: 'completed',
        created_at: NOW * 1000,
      })
      expect(await store.read((db) => findMessage(db, 't', message.id))).toBeNull()
      await commit(call)
      const stored = await store.read((db) => findMessage(db, 't', message.id))
      expect(stored).toEqual({ ...message, position: 2, prompt: 'desk' })
      const [event] = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 10 }))
      const scope = { runId: 'run_1', stepId: 'step_1_2', toolCallId: 'call_1_2_0', messageId: message.id }
      expect(event).toMatchObject({
        type: 'message.created',
        scope,
        payload: { role: 'system' },
        at: NOW * 1000,
      })
    }))

  test('queued messages are staged in order, without a place', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      await Promise.all(
        ['one', 'two', 'three'].map((content) => call.state.queueMessage({ role: 'user', content })),
      )
      const { operations } = await commit(call)
      const ids = [0, 1, 2].map((number) => `t:call_1_2_0:${number}`)
      expect(operations).toEqual(ids.map((id) => ({ kind: 'queue_message', id, role: 'user' })))
      const delivered = await store.write((tx) =>
        deliverMessages(tx, { threadId: 't', ids, run: 1, step: 3 }),
      )
      expect(delivered.messages.map(({ content, position }) => [content, position])).toEqual([
        ['one', 1],
        ['two', 2],
        ['three', 3],
      ])
    }))

  test('the call sees its messages behind those that are stored', () =>
    withThread(async ({ store, open }) => {
      await fillThread(store, 3)
      const { state } = await open()
      await state.injectMessage({ role: 'assistant', content: 'injected' })
      await state.injectMessage({ role: 'system', content: 'hint', silent: true })
      await state.queueMessage({ role: 'user', content: 'mine' })
      const contents = async (options?: Parameters<typeof state.getMessages>[0]) => {
        const page = await state.getMessages(options)
        return [page.messages.map(({ content }) => content).join(' '), page.total, page.hasMore]
      }
      expect(await contents()).toEqual(['m1 m3 injected q1 q2 mine', 6, false])
      expect(await contents({ includeSilent: true })).toEqual(['m1 m2 m3 injected hint q1 q2 mine', 8, false])
      expect(await contents({ limit: 2 })).toEqual(['q2 mine', 6, true])
      expect(await contents({ limit: 2, offset: 2 })).toEqual(['injected q1', 6, true])
      expect(await contents({ limit: 2, offset: 4, order: 'desc' })).toEqual(['m3 m1', 6, false])
      expect(await contents({ limit: Number.POSITIVE_INFINITY, offset: 5 })).toEqual(['m1', 6, false])
      await expect(state.getMessages({ limit: -1 })).rejects.toThrow('Expected limit of getMessages')
      expect(await state.getMessage('t:call_1_2_0:2')).toMatchObject({ content: 'mine', status: 'pending' })
      expect(await state.getMessage('m2')).toMatchObject({ content: 'm2' })
    }))

  test('a second attempt makes the same ids and writes once', () =>
    withThread(async ({ store, open, commit }) => {
      const lost = await open()
      await lost.state.injectMessage({ role: 'user', content: 'once' })
      lost.close()
      const kept = await open()
      await kept.state.injectMessage({ role: 'user', content: 'once' })
      await commit(kept)
      const { messages } = await store.read((db) => listMessages(db, { threadId: 't' }))
      expect(messages.map(({ id }) => id)).toEqual(['t:call_1_2_0:0'])
    }))

  test('a message id that somebody else used does not stop a commit', () =>
    withThread(async ({ store, open, commit }) => {
      const common = { threadId: 't', role: 'user', content: 'mine', createdAt: 1, sentBy: 'client' } as const
      const taken = [0, 1].map((number) => ({ ...common, id: `t:call_1_2_0:${number}`, digest: '' }))
      await store.write((tx) => Promise.all(taken.map((draft) => stageMessage(tx, draft))))
      const call = await open()
      await call.state.injectMessage({ role: 'user', content: 'injected' })
      await call.state.queueMessage({ role: 'user', content: 'queued' })
      const { operations } = await commit(call)
      expect(operations).toMatchObject([{ id: expect.stringMatching(/^[0-9a-f-]{36}$/) }])
    }))

  test('messages that are not valid are refused in words', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      await expect(state.injectMessage({ role: 'tool' as never, content: 'x' })).rejects.toThrow('got "tool"')
      await expect(state.injectMessage({ role: 'user', content: '' })).rejects.toThrow('to have text')
      await expect(state.queueMessage({ role: 'user', content: 7 as never })).rejects.toThrow('got a number')
      const metadata = { run: () => undefined }
      await expect(state.queueMessage({ role: 'user', content: 'x', metadata })).rejects.toThrow(
        'metadata.run, got a function',
      )
    }))

  test('nothing is queued on a thread that was terminated', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      await call.state.queueMessage({ role: 'user', content: 'before' })
      await store.write((tx) => requestTermination(tx, { threadId: 't', reason: null, now: 1 }))
      await expect(call.state.queueMessage({ role: 'user', content: 'after' })).rejects.toThrow(
        'was terminated',
      )
      expect((await commit(call)).operations).toEqual([])
      expect((await open()).state.terminated).toBe(1)
    }))

  test('a full queue refuses, and drops with a warning at the commit', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      await call.state.queueMessage({ role: 'user', content: 'too late' })
      await store.write(async (tx) => {
        const common = {
          threadId: 't',
          role: 'user',
          content: 'x',
          createdAt: 1,
          sentBy: 'client',
          digest: '',
        } as const
        for (let number = 0; number < 1000; number++)
          await stageMessage(tx, { ...common, id: `full-${number}` })
      })
      await expect(call.state.queueMessage({ role: 'user', content: 'x' })).rejects.toThrow('at most 1000')
      expect((await commit(call)).operations).toEqual([])
      const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 10 }))
      expect(events).toMatchObject([{ type: 'runtime.warning', payload: { code: 'queue_full' } }])
    }))
})

describe('the end of a call', () => {
  test('terminate is handed to whoever commits', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      await call.state.terminate()
      expect((await commit(call)).operations).toEqual([{ kind: 'terminate' }])
    }))

  test('every member is refused after the end', () =>
    withThread(async ({ open }) => {
      const call = await open()
      const { state } = call
      const kept = state.setValue.bind(state)
      call.close()
      const names = Object.keys(state) as (keyof typeof state)[]
      expect(names).toHaveLength(49)
      const used = names.map(async (name) => {
        const member = state[name]
        if (typeof member === 'function') await (member as () => Promise<unknown>)()
      })
      for (const use of used) await expect(use).rejects.toThrow(ENDED)
      await expect(kept('late', 1)).rejects.toThrow(ENDED)
    }))

  test('a member that nobody awaits does not take the process down', () =>
    withThread(async ({ open }) => {
      const unhandled: unknown[] = []
      const note = (reason: unknown) => unhandled.push(reason)
      process.on('unhandledRejection', note)
      const { state } = await open()
      void state.setValue('', 1)
      void state.queueMessage({ role: 'user', content: '' })
      void state.setValue('', 1).then(() => 'never')
      void state.getValue('none').then(() => Promise.reject(new Error('of its own')))
      await expect(state.unlinkFile('/none')).rejects.toThrow('which is not there')
      await new Promise((resolve) => setImmediate(resolve))
      process.off('unhandledRejection', note)
      expect(unhandled).toEqual([])
    }))

  test('T9 what a tool left running changes nothing', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      const late = call.state.writeFile('/late.txt', 'late', 'text/plain')
      const queued = call.state.queueMessage({ role: 'user', content: 'late' })
      call.close()
      await expect(late).rejects.toThrow(ENDED)
      await expect(queued).rejects.toThrow(ENDED)
      expect((await commit(call)).operations).toEqual([])
      expect(await (await open()).state.statFile('/late.txt')).toBeNull()
      expect((await store.read((db) => listMessages(db, { threadId: 't' }))).total).toBe(0)
    }))

  test('T9 a commit that is rolled back may be tried again', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      await call.state.injectMessage({ role: 'user', content: 'hello' })
      await call.state.setValue('a', 1)
      await call.state.writeFile('/a/b.txt', 'b', 'text/plain')
      const failing = store.write(async (tx) => {
        await call.commit(tx)
        throw new Error('held by another attempt')
      })
      await expect(failing).rejects.toThrow('held by another attempt')
      expect(await store.read((db) => listValues(db, 't'))).toEqual({})
      await commit(call)
      const { state } = await open('call_1_2_1')
      expect(await state.getValue('a')).toBe(1)
      expect((await state.getMessages()).messages).toMatchObject([{ content: 'hello', position: 1 }])
      expect(await state.findFiles('*')).toEqual({ paths: ['/a/b.txt'] })
    }))
})
