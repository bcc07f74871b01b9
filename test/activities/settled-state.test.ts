import { expect, test } from 'vitest'
import { findThread } from '../../src/store/threads/threads.js'
import { withDesk } from './activity-desk.js'
import { runSettle, settleInput } from './settle-desk.js'

test('the end of a run records what a reopening needs, and a settle within one does not', () =>
  withDesk({}, async (desk) => {
    const settled = async () => (await desk.store.read((db) => findThread(db, 't')))?.settled
    await runSettle(desk, settleInput({ end: null, activeSides: ['b'] }))
    expect(await settled()).toBeNull()
    await runSettle(desk, settleInput({ settle: 2, activeSides: ['a'] }))
    expect(await settled()).toEqual({ run: 1, agent: 'clerk', activated: ['a'] })
    await runSettle(desk, settleInput({ settle: 3, end: null, run: 2 }))
    expect(await settled()).toEqual({ run: 1, agent: 'clerk', activated: ['a'] })
    await runSettle(desk, settleInput({ settle: 4, run: 2 }))
    expect(await settled()).toEqual({ run: 2, agent: 'clerk', activated: [] })
  }))
