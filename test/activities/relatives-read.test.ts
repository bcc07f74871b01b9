import { describe, expect, test } from 'vitest'
import { listMessages } from '../../src/store/messages/transcript.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { putVariable, setValue } from '../../src/store/threads/variables.js'
import { childOf, eventTypes, ofChild, withFamily } from './family-call.js'
import { addChild, messagesOf, registered, say } from './family.js'

describe('a closed child', () => {
  test.each(['closed_at', 'terminate_requested_at'])('is read, and takes nothing (%s)', (column) =>
    withFamily(async ({ store, open, commit }) => {
      await store.write(async (tx) => {
        await setValue(tx, { threadId: 'c', key: 'found', value: 'gold' })
        await updateThread(tx, 'c', { [column]: 5 })
      })
      await say(store, 'The last words.')
      const call = await open()
      const child = await childOf(call.state)
      expect(await child.getValue('found')).toBe('gold')
      expect((await child.getMessages()).messages).toMatchObject([{ content: 'The last words.' }])
      const closed = 'Expected an open thread, got c, which was closed.'
      for (const write of [
        () => child.queueMessage({ role: 'user', content: 'x' }),
        () => child.injectMessage({ role: 'user', content: 'x' }),
        () => child.updateMessage('said The last words.', { content: 'x' }),
        () => child.deleteMessage('said The last words.'),
        () => child.scheduleEffect('remind', {}),
        () => child.removeScheduledEffect('x'),
        () => child.setEnv('A', 'b'),
        () => child.setValue('a', 1),
        () => child.writeFile('/a', 'a', 'text/plain'),
        () => child.unlinkFile('/a'),
        () => child.mkdirFile('/b'),
        () => child.rmdirFile('/b'),
        () => child.notifyParent('x'),
        () => child.setStatus('x'),
        async () => child.queueTool('dig', {}),
        async () => child.emit('x', 1),
      ])
        await expect(write()).rejects.toThrow(closed)
      await child.terminate()
      expect((await commit(call)).operations).toEqual([])
    }),
  )

  test('T8 one that closes meanwhile takes nothing either, visibly', () =>
    withFamily(async ({ store, open, commit }) => {
      const call = await open()
      const child = await childOf(call.state)
      await child.setValue('late', 1)
      await child.queueMessage({ role: 'user', content: 'late' })
      await call.state.setValue('own', 1)
      await store.write((tx) => updateThread(tx, 'c', { closed_at: 5 }))
      expect((await commit(call)).operations).toEqual([])
      expect(await messagesOf(store, 'c')).toEqual([])
      expect(await eventTypes(store, 't')).toEqual(['runtime.warning'])
      expect(await (await open('later', ofChild)).state.getValue('late')).toBeNull()
      expect(await (await open('later')).state.getValue('own')).toBe(1)
    }))

  test('one that is only read leaves nothing behind', () =>
    withFamily(async ({ store, open, commit }) => {
      const call = await open()
      await (await childOf(call.state)).getMessages()
      await store.write((tx) => updateThread(tx, 'c', { closed_at: 5 }))
      await commit(call)
      expect(await eventTypes(store, 't')).toEqual([])
    }))
})

test('a child that waits for variables takes what it will find', () =>
  withFamily(async ({ store, open, commit }) => {
    await addChild(store, { reference: 'd', agent: 'scout', status: 'deferred' })
    const call = await open()
    const child = await childOf(call.state, 'd')
    for (const work of [
      () => child.queueMessage({ role: 'user', content: 'x' }),
      () => child.scheduleEffect('remind', {}),
      () => child.terminate(),
      async () => child.queueTool('dig', {}),
    ])
      await expect(work()).rejects.toThrow('got d, which waits for variables')
    await child.setEnv('CITY', 'Rome', { type: 'text' })
    await child.setValue('hint', 'north')
    await child.setStatus('ready')
    await commit(call)
    const { state } = await open('later', { ...ofChild, threadId: 'd' })
    expect([await state.env('CITY'), await state.getValue('hint')]).toEqual(['Rome', 'north'])
    expect(await registered(store, 'd')).toMatchObject({ status: 'deferred' })
  }))

describe('variables of another thread', () => {
  test('resolve as they do for it', () =>
    withFamily(async ({ store, open }) => {
      await store.write(async (tx) => {
        const variable = { name: 'CITY', type: 'text', now: 1 } as const
        await putVariable(tx, store.secrets, { ...variable, threadId: 't', value: 'Rome' })
        await putVariable(tx, store.secrets, { ...variable, threadId: 'c', value: 'Oslo' })
      })
      const { state } = await open()
      const child = await childOf(state)
      expect([await state.env('CITY'), await child.env('CITY')]).toEqual(['Rome', 'Oslo'])
      // Of its agent.
      expect(await child.env('REGION')).toBe('north')
      await expect(state.env('REGION')).rejects.toThrow('to have a value')
    }))

  test('T5 its secrets do not come back in what the call writes', () =>
    withFamily(async ({ store, open, commit }) => {
      const secret = { threadId: 'c', name: 'KEY', value: 'nightingale', type: 'secret', now: 1 } as const
      await store.write((tx) => putVariable(tx, store.secrets, secret))
      const call = await open()
      const child = await childOf(call.state)
      const key = await child.env('KEY')
      await call.state.setValue('leak', key)
      await child.setValue('leak', key)
      await child.queueMessage({ role: 'user', content: `with ${key}` })
      expect(call.redactor.redact(key)).toBe('[secret KEY]')
      await commit(call)
      const all = await store.read((db) => listMessages(db, { threadId: 'c' }))
      expect(all.messages).toMatchObject([{ content: 'with [secret KEY]' }])
      expect(await (await open('later')).state.getValue('leak')).toBe('[secret KEY]')
      expect(await (await open('later', ofChild)).state.getValue('leak')).toBe('[secret KEY]')
    }))
})
