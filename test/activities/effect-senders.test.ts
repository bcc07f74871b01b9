import { expect, test } from 'vitest'
import type { StateEffects } from '../../src/activities/thread-state/buffered-state.js'
import { insertOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { findEffectSenders } from '../../src/store/threads/effects.js'
import { childOf, parentOf, withFamily } from './family-call.js'
import { addChild } from './family.js'

/** As the commit of a tool call writes it. */
async function recorded(store: Store, threadId: string, { operations }: StateEffects): Promise<void> {
  const operation = {
    thread_id: threadId,
    id: 'call_1_1_0',
    kind: 'tool',
    attempt: 1,
    started_at: 1,
  } as const
  await store.write((tx) => insertOperation(tx, { ...operation, state: 'finished', answer: { operations } }))
}

const sendersOf = (store: Store, threadId: string, id: string) =>
  store.read((db) => findEffectSenders(db, threadId, id))

test('T9 a child that scheduled an effect of its parent is its sender', () =>
  withFamily(async ({ store, open, commit }) => {
    const call = await open('call_1_1_0', { threadId: 'c', agent: 'scout' })
    const id = await (await parentOf(call.state)).scheduleEffect('remind', {}, 1000)
    await recorded(store, 'c', await commit(call))
    expect(await sendersOf(store, 't', id)).toEqual(['c'])
    // Ids are unique within a thread only: an effect of another thread may have the same one.
    expect(await sendersOf(store, 'c', id)).toEqual([])
  }))

test('T9 a grandchild that scheduled an effect of its grandparent is its sender', () =>
  withFamily(async ({ store, open, commit }) => {
    const call = await open('call_1_1_0', { threadId: 'g', agent: 'scout' })
    const id = await (await parentOf(await parentOf(call.state))).scheduleEffect('remind', {}, 1000)
    await recorded(store, 'g', await commit(call))
    expect(await sendersOf(store, 't', id)).toEqual(['g'])
  }))

test('T9 a grandparent that scheduled an effect of its grandchild is its sender', () =>
  withFamily(async ({ store, open, commit }) => {
    const call = await open('call_1_1_0')
    const id = await (await childOf(await childOf(call.state), 'g')).scheduleEffect('remind', {}, 1000)
    await recorded(store, 't', await commit(call))
    expect(await sendersOf(store, 'g', id)).toEqual(['t'])
  }))

test('T9 a sibling that scheduled an effect is its sender', () =>
  withFamily(async ({ store, open, commit }) => {
    await addChild(store, { reference: 'd', agent: 'scout' })
    const call = await open('call_1_1_0', { threadId: 'd', agent: 'scout' })
    const id = await (await childOf(await parentOf(call.state))).scheduleEffect('remind', {}, 1000)
    await recorded(store, 'd', await commit(call))
    expect(await sendersOf(store, 'c', id)).toEqual(['d'])
  }))
