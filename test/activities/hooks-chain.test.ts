import { describe, expect, test } from 'vitest'
import { beforeCreate, draftRow } from '../../src/activities/hooks/message-hooks.js'
import { defineHook } from '../../src/definitions/hook.js'
import type { ThreadState } from '../../src/index.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { getValue } from '../../src/store/threads/variables.js'
import { attempt } from './activity-desk.js'
import { hookFailures, MESSAGE, withBatch } from './hook-batch.js'

const adds = (id: string) =>
  defineHook({
    hook: 'before_create_message',
    id,
    execute: (_state, message) => ({ ...message, content: `${message.content} ${id}` }),
  })

const hook = (id: string, execute: () => unknown, timeout = 30_000) =>
  defineHook({ hook: 'before_create_message', id, timeout, execute: execute as never })

const never = (): Promise<never> => new Promise(() => undefined)

describe('a chain of hooks', () => {
  test('each hook gets what the one before answered', () =>
    withBatch([adds('a'), adds('b'), adds('c')], async (batch) => {
      const { value } = await beforeCreate(batch, MESSAGE, false)
      expect(value.content).toBe('hello a b c')
    }))

  test('a hook that answers nothing keeps the value', () =>
    withBatch([hook('quiet', () => undefined), adds('b')], async (batch) => {
      expect((await beforeCreate(batch, MESSAGE, false)).value.content).toBe('hello b')
    }))

  test('hooks of other points are not asked', () =>
    withBatch([adds('a')], async (batch) => {
      expect(batch.has('after_create_message')).toBe(false)
      expect(batch.has('after_create_message', 'before_create_message')).toBe(true)
    }))

  test.each([
    [
      'throws',
      () => {
        throw new Error('secret words')
      },
      'threw',
      'secret words',
    ],
    [
      'throws an error that no row can hold',
      () => {
        throw Object.assign(new Error(), { message: { code: 3 } })
      },
      'threw',
      '{"code":3}',
    ],
    [
      'answers what cannot be read',
      () => ({
        get content(): never {
          throw new Error('not loaded')
        },
      }),
      'invalid_answer',
      'not loaded',
    ],
    ['answers something else', () => 'text', 'invalid_answer', 'Expected a message, got a string.'],
    ['changes an id', () => ({ ...MESSAGE, id: 'm2' }), 'invalid_answer', 'Expected id of the message'],
    [
      'changes a role',
      () => ({ ...MESSAGE, role: 'system' }),
      'invalid_answer',
      'Expected role of the message',
    ],
    [
      'writes attachments as text',
      () => ({ attachments: '[]' }),
      'invalid_answer',
      'to be a list of references',
    ],
    ['never answers', never, 'timeout', 'did not answer within 0.02 seconds'],
  ])('AR-HP.9 a hook that %s is recorded, the value kept', (_what, execute, code, words) =>
    withBatch([adds('a'), hook('bad', execute, 20), adds('c')], async (batch, desk) => {
      expect((await beforeCreate(batch, MESSAGE, false)).value.content).toBe('hello a c')
      await desk.store.write((tx) => batch.commit(tx))
      expect(await hookFailures(desk)).toEqual([
        ['bad', 'before_create_message', code, expect.stringContaining(words)],
      ])
      // T5: the words are in the store's errors only.
      expect(JSON.stringify(await desk.events())).not.toContain(words)
    }),
  )

  test('a hook that changes its argument and fails changes nothing', () => {
    const spoils = defineHook({
      hook: 'before_create_message',
      id: 'spoils',
      execute: (_state, message) => {
        Object.assign(message, { content: 'spoilt' })
        throw new Error('no')
      },
    })
    return withBatch([spoils], async (batch) => {
      expect((await beforeCreate(batch, MESSAGE, false)).value).toEqual(MESSAGE)
    })
  })

  test('K-16 a message that is passed through keeps its attachments', () => {
    const same = defineHook({
      hook: 'before_create_message',
      id: 'same',
      execute: (_state, message) => message,
    })
    const draft = {
      id: 'm1',
      threadId: 't',
      role: 'user',
      content: 'hello',
      createdAt: 1,
      sentBy: 'tool',
      metadata: { kind: 'greeting' },
      attachments: MESSAGE.attachments,
    } as const
    return withBatch([same], async (batch, desk) => {
      expect(await draftRow(batch, draft)).toMatchObject(draft)
      const written: string[] = []
      await desk.store.write((tx) => batch.commit(tx, async () => void written.push('row')))
      expect(written).toEqual(['row'])
    })
  })
})

describe('a hook that this worker lacks', () => {
  test('is waited for in the first minute', () =>
    withBatch([], async () => undefined, {
      ids: ['gone'],
      environment: attempt({ scheduledTimestampMs: 1, currentAttemptScheduledTimestampMs: 2 }),
    }).then(
      () => expect.unreachable(),
      (error: unknown) => expect(error).toMatchObject({ type: 'Definition.Missing' }),
    ))

  test('is skipped and recorded after it', () =>
    withBatch(
      [adds('a')],
      async (batch, desk) => {
        expect((await beforeCreate(batch, MESSAGE, false)).value.content).toBe('hello a')
        await desk.store.write((tx) => batch.commit(tx))
        expect(await hookFailures(desk)).toEqual([
          ['gone', null, 'missing', expect.stringContaining('Expected the hook "gone" on this worker')],
        ])
      },
      { ids: ['gone', 'a'] },
    ))
})

describe('the state of hooks', () => {
  const counts = (id: string) =>
    defineHook({
      hook: 'before_create_message',
      id,
      execute: async (state) => {
        await state.setValue('count', Number((await state.getValue('count')) ?? 0) + 1)
      },
    })

  test('T9 what hooks write is there with the commit, and not before', () =>
    withBatch([counts('a'), counts('b')], async (batch, desk) => {
      await beforeCreate(batch, MESSAGE, false)
      const value = () => desk.store.read((db) => getValue(db, 't', 'count'))
      expect(await value()).toBeUndefined()
      await desk.store.write((tx) => batch.commit(tx))
      expect(await value()).toBe(2)
    }))

  test('a hook that took too long finds its state closed', () => {
    let kept: ThreadState | undefined
    let aborted: AbortSignal | undefined
    const slow = defineHook({
      hook: 'before_create_message',
      id: 'slow',
      timeout: 20,
      execute: (state) => {
        kept = state
        aborted = state.execution?.abortSignal
        return never()
      },
    })
    return withBatch([slow], async (batch) => {
      await beforeCreate(batch, MESSAGE, false)
      expect(aborted?.aborted).toBe(true)
      await expect(kept?.getValue('x')).rejects.toThrow('The hook slow has ended')
    })
  })

  test('a queued message is told to the workflow', () => {
    const queues = defineHook({
      hook: 'after_create_message',
      id: 'queues',
      execute: (state) => state.queueMessage({ role: 'user', content: 'more' }),
    })
    return withBatch([queues], async (batch, desk) => {
      const draft = {
        id: 'x',
        threadId: 't',
        role: 'user',
        content: 'a',
        createdAt: 1,
        sentBy: 'tool',
      } as const
      await draftRow(batch, draft)
      const { operations } = await desk.store.write((tx) => batch.commit(tx, async () => undefined))
      expect(operations).toEqual([{ kind: 'queue_message', id: expect.any(String), role: 'user' }])
    })
  })

  test('T9 the row of the transaction is written in its place among theirs, again after a rollback', () => {
    const inject = (state: ThreadState, content: string) => state.injectMessage({ role: 'system', content })
    const before = defineHook({
      hook: 'before_create_message',
      id: 'before',
      execute: async (state) => void (await inject(state, 'before')),
    })
    const after = defineHook({
      hook: 'after_create_message',
      id: 'after',
      execute: async (state) => void (await inject(state, 'after')),
    })
    return withBatch([before, after], async (batch, desk) => {
      const draft = {
        id: 'x',
        threadId: 't',
        role: 'user',
        content: 'row',
        createdAt: 1,
        sentBy: 'tool',
      } as const
      const row = await draftRow(batch, draft)
      const commit = (then: () => void) =>
        desk.store.write(async (tx) => {
          await batch.commit(tx, () => appendMessage(tx, row).then(() => undefined))
          then()
        })
      await expect(commit(() => expect.fail('rolled back'))).rejects.toThrow('rolled back')
      await commit(() => undefined)
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['before', 'row', 'after'])
    })
  })

  test('a place without a row, and a row without a place, are bugs', () =>
    withBatch([counts('a')], async (batch, desk) => {
      const commit = (write?: () => Promise<void>) => desk.store.write((tx) => batch.commit(tx, write))
      await expect(commit(async () => undefined)).rejects.toThrow('Expected a row for which a place')
      await batch.reserveRow()
      await expect(commit()).rejects.toThrow('Expected the write of the row')
    }))
})
