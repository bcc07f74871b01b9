import { ActivityCancellationDetails } from '@temporalio/common'
import { describe, expect, test } from 'vitest'
import { defineHook } from '../../src/definitions/hook.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import type { Message } from '../../src/protocol/message.js'
import { findOperation } from '../../src/store/operations.js'
import { getValue } from '../../src/store/threads/variables.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, failingStore, failureOf, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { hookFailures } from './hook-batch.js'

const mask = defineHook({
  hook: 'before_create_message',
  id: 'mask',
  execute: (_state, message) => ({ ...message, content: message.content?.replaceAll(/\d+/g, '#') ?? null }),
})

const guard = defineHook({
  hook: 'before_create_message',
  id: 'guard',
  execute: (_state, { content }) => {
    if (content?.includes('forbidden') === true) throw new Error('words that are forbidden')
  },
})

const count = defineHook({
  hook: 'after_create_message',
  id: 'count',
  execute: async (state) => {
    await state.setValue('count', Number((await state.getValue('count')) ?? 0) + 1)
  },
})

const answers = (...texts: readonly string[]) => scriptedModel(texts.map((text) => ({ text })))
const rows = async (desk: ActivityDesk) =>
  (await desk.transcript()).map(({ position, role, content }: Message) => [position, role, content])
const counted = (desk: ActivityDesk) => desk.store.read((db) => getValue(db, 't', 'count'))

describe('create hooks of drained messages', () => {
  test('change what is stored and what the model reads', () => {
    const chat = answers('Call 112.')
    return withDesk({ chat, hooks: [mask] }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('I am 42', 'and 7')) }))
      expect(await rows(desk)).toEqual([
        [1, 'user', 'I am #'],
        [2, 'user', 'and #'],
        [3, 'assistant', 'Call #.'],
      ])
      expect(JSON.stringify(chat.requests)).not.toContain('42')
    })
  })

  test('T3 a call without an answer takes what came after a reset into its step', () => {
    const chat = answers('Hello both.')
    return withDesk({ chat }, async (desk) => {
      const ids = await desk.send('one')
      const store = failingStore(desk.store, (write) => write === 2)
      await failureOf(runModel({ ...desk.dependencies, store }, modelInput({ drain: drainOf(ids) })))
      const drain = drainOf([...ids, ...(await desk.send('two'))])
      const answer = await runModel(desk.dependencies, modelInput({ drain }))
      expect(answer).toMatchObject({ type: 'answered' })
      expect(answer).not.toHaveProperty('operations')
      expect(await rows(desk)).toEqual([
        [1, 'user', 'one'],
        [2, 'user', 'two'],
        [3, 'assistant', 'Hello both.'],
      ])
      expect(JSON.stringify(chat.requests.at(-1))).toContain('two')
      expect(await desk.told('message.created')).toHaveLength(3)
    })
  })

  test('T9 what hooks did to a message of a reset comes with the answer', () => {
    const queueing = defineHook({
      hook: 'after_create_message',
      id: 'queueing',
      execute: (state, { content }) => state.queueMessage({ role: 'user', content: `about ${content}` }),
    })
    return withDesk({ chat: answers('x'), hooks: [queueing] }, async (desk) => {
      const ids = await desk.send('one')
      // The hooks' rows and the drain come before it.
      const store = failingStore(desk.store, (write) => write === 3)
      await failureOf(runModel({ ...desk.dependencies, store }, modelInput({ drain: drainOf(ids) })))
      expect((await rows(desk))[0]).toEqual([1, 'user', 'one'])
      const drain = drainOf([...ids, ...(await desk.send('two'))])
      const answer = await runModel(desk.dependencies, modelInput({ drain }))
      // Of both messages, and of the answer.
      const operations = Array.from({ length: 3 }, () => ({ kind: 'queue_message' }))
      expect(answer).toMatchObject({ type: 'answered', operations })
    })
  })

  test('T3 a message whose hook throws is refused, visibly', () =>
    withDesk({ chat: answers('x'), hooks: [guard] }, async (desk) => {
      const ids = await desk.send('one', 'forbidden', 'three')
      await runModel(desk.dependencies, modelInput({ drain: drainOf(ids) }))
      expect(await rows(desk)).toEqual([
        [1, 'user', 'one'],
        [2, 'user', 'three'],
        [3, 'assistant', 'x'],
      ])
      const refused = await desk.store.read((db) =>
        db.selectFrom('messages').select(['id', 'position']).where('status', '=', 'refused').execute(),
      )
      expect(refused).toEqual([{ id: ids[1], position: null }])
      expect(await hookFailures(desk)).toEqual([
        ['guard', 'before_create_message', 'threw', 'words that are forbidden'],
      ])
    }))

  test('a run whose only message was refused calls no model', () => {
    const chat = answers('x')
    return withDesk({ chat, hooks: [guard] }, async (desk) => {
      const answer = await runModel(
        desk.dependencies,
        modelInput({ drain: drainOf(await desk.send('forbidden')) }),
      )
      expect(answer).toMatchObject({ type: 'nothing_to_do' })
      expect(chat.requests).toHaveLength(0)
      expect(await hookFailures(desk)).toHaveLength(1)
    })
  })

  test('T9 a retry that finds the drain done runs them no more', () =>
    withDesk({ hooks: [mask, count] }, async (desk) => {
      const drain = drainOf(await desk.send('one', 'two'))
      const dying = attempt()
      const running = failureOf(
        runModel(desk.with({ chat: held(dying), hooks: [mask, count] }), modelInput({ drain }), dying),
      )
      expect((await running).type).toBe('Worker.Shutdown')
      expect(await counted(desk)).toBe(2)
      await runModel(desk.with({ chat: answers('x'), hooks: [mask, count] }), modelInput({ drain }))
      // Two drained messages, and the answer.
      expect(await counted(desk)).toBe(3)
    }))

  test('what they queued rides in the answer of a retry', () => {
    const queues = defineHook({
      hook: 'after_create_message',
      id: 'queues',
      execute: async (state, { role }) => {
        if (role === 'user') await state.queueMessage({ role: 'user', content: 'more' })
      },
    })
    return withDesk({ hooks: [queues] }, async (desk) => {
      const drain = drainOf(await desk.send('one'))
      const dying = attempt()
      await failureOf(
        runModel(desk.with({ chat: held(dying), hooks: [queues] }), modelInput({ drain }), dying),
      )
      const parts = { chat: answers('x'), hooks: [queues] }
      const answer = await runModel(desk.with(parts), modelInput({ drain }))
      expect(answer).toMatchObject({ operations: [{ kind: 'queue_message', role: 'user' }] })
    })
  })

  test('an inline message meets them too', () =>
    withDesk({ chat: answers('x'), hooks: [mask] }, async (desk) => {
      const inline = { content: 'number 5', role: 'user', silent: false } as const
      const drain = [{ kind: 'message', id: 'everthread:item:1', inline } as const]
      await runModel(desk.dependencies, modelInput({ drain }))
      expect(await rows(desk)).toEqual([
        [1, 'user', 'number #'],
        [2, 'assistant', 'x'],
      ])
    }))

  test('what a hook puts in stands behind the messages', () => {
    const note = defineHook({
      hook: 'after_create_message',
      id: 'note',
      execute: async (state, { role }) => {
        if (role === 'user') await state.injectMessage({ role: 'system', content: 'noted' })
      },
    })
    const chat = answers('x')
    return withDesk({ chat, hooks: [note] }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      expect((await rows(desk)).map(([, , content]) => content)).toEqual(['one', 'noted', 'x'])
      expect(JSON.stringify(chat.requests[0])).toContain('noted')
    })
  })
})

describe('the hook of a new thread', () => {
  const created = defineHook({
    hook: 'after_thread_created',
    id: 'created',
    execute: async (state) => {
      await state.setValue('count', Number((await state.getValue('count')) ?? 0) + 1)
    },
  })

  test('T9 runs once, with the first activity of the thread', () =>
    withDesk({ chat: answers('x', 'y'), hooks: [created] }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      await runModel(desk.dependencies, modelInput({ run: 2, drain: drainOf(await desk.send('two')) }))
      expect(await counted(desk)).toBe(1)
      const mark = await desk.store.read((db) => findOperation(db, 't', 'hook_thread_created'))
      expect(mark?.state).toBe('finished')
    }))

  test('a thread that ran before it had the hook is not new', () =>
    withDesk({ chat: answers('x') }, async (desk) => {
      await runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      const later = desk.with({ chat: answers('y'), hooks: [created] })
      await runModel(later, modelInput({ run: 2, drain: drainOf(await desk.send('two')) }))
      expect(await counted(desk)).toBeUndefined()
    }))
})

/** Transactions and reads of one step. */
async function costOf(hooks: readonly AnyHook[]): Promise<readonly number[]> {
  let writes = 0
  let reads = 0
  await withDesk({ chat: answers('x'), hooks }, async ({ dependencies, store, send }) => {
    const counting: typeof store = {
      ...store,
      read: (work) => ((reads += 1), store.read(work)),
      write: (work) => ((writes += 1), store.write(work)),
      close: () => store.close(),
    }
    await runModel({ ...dependencies, store: counting }, modelInput({ drain: drainOf(await send('one')) }))
  })
  return [writes, reads]
}

test('T6 a step costs more only where hooks of its points run', async () => {
  const none = await costOf([])
  const other = defineHook({ hook: 'before_store_tool_result', id: 'other', execute: () => undefined })
  expect(await costOf([other])).toEqual(none)
  expect((await costOf([mask]))[0]).toBe((none[0] ?? 0) + 1)
})

/** A model whose worker shuts down before it answers. */
function held(environment: ReturnType<typeof attempt>) {
  return scriptedModel([
    async () => {
      environment.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }))
      await new Promise(() => undefined)
      return { text: 'never' }
    },
  ])
}
