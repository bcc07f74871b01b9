import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ThreadState } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findThread } from '../../src/store/threads/threads.js'
import { NOW } from './buffered-call.js'
import type { TestThread } from './buffered-call.js'
import { childOf, eventTypes, ofChild, parentOf, withFamily } from './family-call.js'
import { addChild, messagesOf, say, writeText } from './family.js'

describe('a lookup', () => {
  test('SA-R-07.1c of a child and back has matching ids', () =>
    withFamily(async ({ open }) => {
      const { state } = await open()
      const child = await childOf(state)
      expect(child).toMatchObject({ threadId: 'c', agentId: 'scout', execution: null, terminated: null })
      expect(await parentOf(child)).toBe(state)
      expect(await childOf(await parentOf(child))).toBe(child)
    }))

  test('SA-R-07.1c of the parent from the child has matching ids', () =>
    withFamily(async ({ open }) => {
      const { state } = await open('call_1_1_0', ofChild)
      const parent = await parentOf(state)
      expect(parent).toMatchObject({
        threadId: 't',
        agentId: 'support',
        userId: 'anna',
        createdAt: 7_000_000,
      })
      expect(await childOf(parent)).toBe(state)
    }))

  test.each(['nobody', 't', 'g', 5 as never])(
    'SA-R-07.1c of %s, which is no child, gives null',
    (reference) =>
      withFamily(async ({ open }) => {
        expect(await (await open()).state.getChildThread(reference)).toBeNull()
      }),
  )

  test('SA-R-07.1c of the parent of a root thread gives null', () =>
    withFamily(async ({ open }) => {
      expect(await (await open()).state.getParentThread()).toBeNull()
    }))

  test('goes on to the parent of the parent', () =>
    withFamily(async ({ open, commit }) => {
      const call = await open('call_1_1_0', { threadId: 'g', agent: 'scout' })
      const top = await parentOf(await parentOf(call.state))
      await top.queueMessage({ role: 'user', content: 'From below.' })
      expect((await commit(call)).operations).toMatchObject([{ kind: 'signal_thread', to: 't' }])
    }))
})

const ENTRY = z.strictObject({
  reference: z.string(),
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  resumable: z.boolean().optional(),
  blocking: z.boolean().optional(),
  threadName: z.string().optional(),
  spawnGroupId: z.string().optional(),
  createdAt: z.number().optional(),
  status: z.string(),
  parentCommunication: z.enum(['implicit', 'explicit']).optional(),
})

describe('the list of children', () => {
  test('SA-A-07.11a has the fields of the registry and resumable ones only', () =>
    withFamily(async ({ store, open }) => {
      await addChild(store, { reference: 'once', resumable: false })
      const [entry, ...others] = (await open()).state.children
      expect(others).toEqual([])
      expect(ENTRY.parse(entry)).toMatchObject({ reference: 'c', name: 'Scout', status: 'running' })
      await addChild(store, {
        ...{ reference: 'd', thread_name: 'Dora', spawn_group_id: 'x', parent_communication: 'explicit' },
        created_at: 9_000_000_000_000_000,
      })
      const { children } = (await open()).state
      expect(children.map((child) => ENTRY.parse(child))).toMatchObject([
        { title: 'The scout' },
        { threadName: 'Dora', spawnGroupId: 'x', parentCommunication: 'explicit' },
      ])
    }))

  test('of another thread is its own', () =>
    withFamily(async ({ open }) => {
      const child = await childOf((await open()).state)
      expect(child.children).toMatchObject([{ reference: 'g' }])
    }))
})

/** All that may be done to another thread. */
async function workOn(state: ThreadState): Promise<void> {
  await state.queueMessage({ role: 'assistant', content: 'Go on.', attachments: ['/plan.txt'] })
  state.queueTool('dig', { deep: true })
  await state.scheduleEffect('remind', {}, 1000)
  await state.setEnv('PLACE', 'here', { type: 'text' })
  await state.injectMessage({ role: 'system', content: 'A hint.' })
  await state.setValue('depth', 3)
  await state.writeFile('/new.txt', 'new', 'text/plain')
}

describe('what is done to another thread', () => {
  test('T9 joins the outcome of the call, and its workflow is told', () =>
    withFamily(async ({ store, open, commit }) => {
      await writeText(store, '/plan.txt', 'c')
      const call = await open()
      await workOn(await childOf(call.state))
      expect(await messagesOf(store, 'c')).toEqual([])
      const { operations } = await commit(call)
      const kinds = ['queue_message', 'queue_tool', 'schedule_effect', 'set_env']
      expect(operations).toEqual(
        kinds.map((kind) => ({
          kind: 'signal_thread',
          to: 'c',
          operation: expect.objectContaining({ kind }),
        })),
      )
      const { state } = await open('later', ofChild)
      expect(await state.getValue('depth')).toBe(3)
      expect(await state.env('PLACE')).toBe('here')
      expect(await state.getScheduledEffects()).toMatchObject([{ name: 'remind' }])
      expect(await state.findFiles('/new.txt')).toEqual({ paths: ['/new.txt'] })
      const messages = await messagesOf(store, 'c')
      expect(messages.map(({ content }) => content)).toEqual(['A hint.', 'Go on.', null])
      expect(messages[1]).toMatchObject({ attachments: [{ path: '/plan.txt' }], status: 'pending' })
      const types = [
        'file.changed',
        'file.changed',
        'effect.scheduled',
        'variables.changed',
        'message.created',
      ]
      expect(await eventTypes(store, 'c')).toEqual(types)
      expect(await messagesOf(store, 't')).toEqual([])
      expect(await eventTypes(store, 't')).toEqual([])
    }))

  test('T9 is not done without the outcome', () =>
    withFamily(async ({ store, open }) => {
      await writeText(store, '/plan.txt', 'c')
      const call = await open()
      await workOn(await childOf(call.state))
      call.close()
      expect(await messagesOf(store, 'c')).toEqual([])
      expect(await (await open('later', ofChild)).state.getValue('depth')).toBeNull()
    }))

  test('T9 is done once when a commit is tried again', () =>
    withFamily(async ({ store, open, commit }) => {
      const call = await open()
      await (await childOf(call.state)).queueMessage({ role: 'user', content: 'Once.' })
      const failing = store.write(async (tx) => {
        await call.commit(tx)
        throw new Error('held by another attempt')
      })
      await expect(failing).rejects.toThrow('held')
      expect((await commit(call)).operations).toHaveLength(1)
      expect(await messagesOf(store, 'c')).toHaveLength(1)
    }))

  test('is seen by the call itself, whichever way it looks', () =>
    withFamily(async ({ open }) => {
      const { state } = await open()
      await (await childOf(state)).setValue('a', 1)
      const again = await childOf(await parentOf(await childOf(await childOf(state), 'g')), 'g')
      await (await parentOf(again)).queueMessage({ role: 'user', content: 'Hello.' })
      const child = await childOf(state)
      expect(await child.getValue('a')).toBe(1)
      expect((await child.getMessages()).messages).toMatchObject([{ content: 'Hello.' }])
    }))

  test('has ids that the thread makes nowhere itself', () =>
    withFamily(async ({ store, open, commit }) => {
      const [mine, other] = [await open('call_1_1_0', ofChild), await open('call_1_1_0')]
      mine.state.queueTool('dig', {})
      const child = await childOf(other.state)
      child.queueTool('dig', {})
      await mine.state.queueMessage({ role: 'user', content: 'mine' })
      await child.queueMessage({ role: 'user', content: 'theirs' })
      await commit(mine)
      await commit(other)
      const held = (await messagesOf(store, 'c')).filter(({ role }) => role !== 'system')
      expect(held).toHaveLength(4)
    }))

  test.each<readonly ['child' | 'parent', Partial<Parameters<TestThread['open']>[1]>]>([
    ['parent', {}],
    ['child', ofChild],
  ])('says that it comes from a %s', (sentBy, patch) =>
    withFamily(async ({ store, open, commit }) => {
      const call = await open('call_1_1_0', patch)
      const other = sentBy === 'parent' ? await childOf(call.state) : await parentOf(call.state)
      await other.queueMessage({ role: 'user', content: 'Hello.' })
      await commit(call)
      const row = await store.read((db) =>
        db.selectFrom('messages').select(['sent_by', 'run', 'side']).executeTakeFirstOrThrow(),
      )
      expect(row).toEqual({ sent_by: sentBy, run: null, side: null })
    }),
  )

  test('T5 answers the workflow with ids and names alone', () =>
    withFamily(async ({ store, open, commit }) => {
      await writeText(store, '/plan.txt', 'c')
      const call = await open()
      await workOn(await childOf(call.state))
      expect(JSON.stringify(await commit(call))).not.toMatch(/Go on|deep|here|hint/)
    }))

  test('terminate marks its row, and its workflow is told', () =>
    withFamily(async ({ store, open, commit }) => {
      const call = await open()
      const child = await childOf(call.state)
      await child.terminate()
      await child.queueMessage({ role: 'user', content: 'Too late.' })
      const told = { kind: 'signal_thread', to: 'c', operation: { kind: 'terminate' } }
      expect((await commit(call)).operations).toEqual([told])
      expect(await store.read((db) => findThread(db, 'c'))).toMatchObject({
        ...{ terminate_requested_at: NOW * 1000, terminate_reason: 'Its parent thread requested it.' },
      })
      expect(await messagesOf(store, 'c')).toEqual([])
    }))

  test('is bounded for each call', () =>
    withFamily(async ({ open }) => {
      const { state } = await open()
      const [child, below] = [await childOf(state), await childOf(await childOf(state), 'g')]
      for (let made = 0; made < LIMITS.queuedByCall; made += 1)
        await (made % 2 === 0 ? child : below).setEnv('N', `${made}`, { type: 'text' })
      await expect(child.queueMessage({ role: 'user', content: 'x' })).rejects.toThrow(
        'at most 50 operations',
      )
      expect(() => below.queueTool('dig', {})).toThrow('at most 50 operations')
      await child.setValue('still', true)
    }))

  test('does not change messages of a run in flight', () =>
    withFamily(async ({ store, open, commit }) => {
      await store.write(async (tx) => {
        for (const [number, ended_at] of [[1, 5] as const, [2, null] as const])
          await insertRun(tx, { thread_id: 'c', number, trigger_kind: 'message', started_at: 1, ended_at })
      })
      await say(store, 'earlier')
      await say(store, 'now', { run: 2 })
      const call = await open()
      const child = await childOf(call.state)
      await expect(child.deleteMessage('said now')).rejects.toThrow('belongs to the run in flight')
      await child.updateMessage('said earlier', { content: 'changed' })
      await commit(call)
      expect((await messagesOf(store, 'c')).map(({ content }) => content)).toEqual(['changed', 'now'])
    }))

  test('a queued message that is taken back is told', () =>
    withFamily(async ({ store, open, commit }) => {
      const draft = {
        id: 'q',
        threadId: 'c',
        role: 'user',
        content: 'x',
        createdAt: 1,
        sentBy: 'client',
      } as const
      await store.write((tx) => stageMessage(tx, { ...draft, digest: '' }))
      const call = await open()
      expect(await (await childOf(call.state)).deleteMessage('q')).toBe(true)
      const operation = { kind: 'remove_queued', id: 'q' }
      expect((await commit(call)).operations).toEqual([{ kind: 'signal_thread', to: 'c', operation }])
    }))

  test('a tool is invoked in no other thread', () =>
    withFamily(async ({ open }) => {
      const child = await childOf((await open()).state)
      await expect(child.invokeTool('dig', {})).rejects.toThrow('use its queueTool')
    }))
})
