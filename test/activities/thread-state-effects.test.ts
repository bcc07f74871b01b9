import { describe, expect, test } from 'vitest'
import { defineEffect, registry } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { readEvents } from '../../src/store/events.js'
import type { Store } from '../../src/store/store.js'
import { findEffect, insertEffect, listScheduledEffects } from '../../src/store/threads/effects.js'
import { effectOptions, NOW, withThread } from './buffered-call.js'
import { EFFECT_ARGUMENT_BYTES } from '../../src/activities/thread-state/work.js'

const DAY = 24 * 3_600_000

const reminders = {
  registry: registry({
    agents: [],
    prompts: [],
    models: [],
    effects: {
      remind: defineEffect('Reminds', async () => undefined),
      ask: defineEffect('Asks', () => undefined),
    },
  }),
}

const stored = (store: Store) => store.read((db) => listScheduledEffects(db, 't'))

describe('scheduling', () => {
  test('T9 an effect is seen by the call alone until its commit', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      const id = await call.state.scheduleEffect('remind', { order: 'A-17' }, 3 * DAY)
      const [effect] = await call.state.getScheduledEffects()
      expect(effect).toMatchObject({ id, name: 'remind', args: { order: 'A-17' }, createdAt: NOW * 1000 })
      const late = (effect?.scheduledAt ?? 0) / 1000 - NOW - 3 * DAY
      expect(late >= 0 && late < 10_000).toBe(true)
      expect(await stored(store)).toEqual([])
      const { operations } = await commit(call)
      expect(operations).toEqual([{ kind: 'schedule_effect', id, dueAt: NOW + 3 * DAY + late }])
      expect(await stored(store)).toMatchObject([{ id, name: 'remind', args: { order: 'A-17' } }])
      const [event] = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 10 }))
      expect(event).toMatchObject({ type: 'effect.scheduled', payload: { effectId: id, name: 'remind' } })
    }, reminders))

  test('every attempt of a call gives an effect the same id', () =>
    withThread(async ({ open }) => {
      const first = await (await open()).state.scheduleEffect('remind', {})
      expect(await (await open()).state.scheduleEffect('remind', {})).toBe(first)
      expect(await (await open('call_1_2_1')).state.scheduleEffect('remind', {})).not.toBe(first)
    }, reminders))

  test('an effect that schedules the next one keeps ids short', () =>
    withThread(async ({ open }) => {
      const one = await (await open('x', effectOptions('effect_1'))).state.scheduleEffect('remind', {})
      const next = await (await open('x', effectOptions(one))).state.scheduleEffect('remind', {})
      expect(next).not.toBe(one)
      expect(next).toHaveLength(one.length)
    }, reminders))

  test('an unknown name, bad arguments and a bad delay are refused', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      const { state } = call
      await expect(state.scheduleEffect('remnid', {})).rejects.toThrow('a registered effect, got "remnid"')
      await expect(state.scheduleEffect('remind', { at: new Date() } as never)).rejects.toThrow('class Date')
      await expect(state.scheduleEffect('remind', {}, -1)).rejects.toThrow('milliseconds, got -1')
      await expect(state.scheduleEffect('remind', {}, Number.NaN)).rejects.toThrow('got NaN')
      const large = { text: 'x'.repeat(EFFECT_ARGUMENT_BYTES) }
      await expect(state.scheduleEffect('remind', large)).rejects.toThrow('write them to a file')
      expect((await commit(call)).operations).toEqual([])
    }, reminders))

  test('a thread has at most 500 scheduled effects', () =>
    withThread(async ({ store, open }) => {
      await store.write(async (tx) => {
        for (let number = 0; number < LIMITS.effects; number += 1)
          await insertEffect(tx, row(`e${number}`, number))
      })
      await expect((await open()).state.scheduleEffect('remind', {})).rejects.toThrow('at most 500')
    }, reminders))
})

describe('ids', () => {
  test('of messages and tools stay short in a thread with a long id', () =>
    withThread(async ({ open, commit }) => {
      const call = await open('x', effectOptions(`effect_${'x'.repeat(200)}`))
      call.state.queueTool('remind', {})
      await call.state.queueMessage({ role: 'user', content: 'one' })
      const ids = (await commit(call)).operations.map((operation) => ('id' in operation ? operation.id : ''))
      expect(ids.map((id) => id.length)).toEqual([40, 40])
      expect(new Set(ids).size).toBe(2)
    }, reminders))
})

describe('listing and removing', () => {
  test('an effect that runs does not find itself', () =>
    withThread(async ({ store, open }) => {
      await store.write((tx) => insertEffect(tx, row('stored', 5)))
      const { state } = await open('x', effectOptions('stored'))
      expect(await state.getScheduledEffects()).toEqual([])
      expect(await state.removeScheduledEffect('stored')).toBe(false)
    }, reminders))

  test('effects are listed by due time and by name', () =>
    withThread(async ({ store, open }) => {
      await store.write((tx) => insertEffect(tx, row('stored', NOW * 1000 + 5000)))
      const { state } = await open()
      const later = await state.scheduleEffect('ask', {}, 60_000)
      expect((await state.getScheduledEffects()).map(({ id }) => id)).toEqual(['stored', later])
      expect((await state.getScheduledEffects('ask')).map(({ id }) => id)).toEqual([later])
    }, reminders))

  test('a removed effect is gone for the call, then for all', () =>
    withThread(async ({ store, open, commit }) => {
      await store.write((tx) => insertEffect(tx, row('stored', 5)))
      const call = await open()
      expect(await call.state.removeScheduledEffect('stored')).toBe(true)
      expect(await call.state.removeScheduledEffect('stored')).toBe(false)
      expect(await call.state.getScheduledEffects()).toEqual([])
      expect(await stored(store)).toHaveLength(1)
      expect((await commit(call)).operations).toEqual([{ kind: 'remove_effect', id: 'stored' }])
      expect(await store.read((db) => findEffect(db, 't', 'stored'))).toMatchObject({ status: 'removed' })
    }, reminders))

  test('an effect that its own call removes never was', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      const id = await call.state.scheduleEffect('remind', {})
      expect(await call.state.removeScheduledEffect(id)).toBe(true)
      expect((await commit(call)).operations).toEqual([])
      expect(await store.read((db) => findEffect(db, 't', id))).toBeNull()
    }, reminders))
})

function row(id: string, dueAt: number) {
  return { thread_id: 't', id, name: 'remind', args: {}, due_at: dueAt, created_at: 1 }
}
