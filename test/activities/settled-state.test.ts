import { expect, test } from 'vitest'
import { phaseFact } from '../../src/protocol/facts.js'
import { appendEvents, readEvents } from '../../src/store/events.js'
import { findThread } from '../../src/store/threads/threads.js'
import { NOW, withDesk } from './activity-desk.js'
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

test('phases that an activity without an answer has stored are not stored again', () =>
  withDesk({}, async (desk) => {
    const scope = { runId: 'run_1', stepId: 'step_1_1' }
    const phases = ([5, 6, 7] as const).map((phase) => phaseFact(phase, scope))
    const other = phaseFact(7, { runId: 'run_1', stepId: 'step_1_2' })
    await desk.store.write((tx) => appendEvents(tx, { threadId: 't', events: phases.slice(0, 2), now: NOW }))
    const stored = async () => {
      const events = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 100 }))
      const marks = events.filter(({ type }) => type === 'step.phase')
      return marks.map(({ scope, payload }) => [scope.stepId, payload['phase']])
    }
    await runSettle(desk, settleInput({ facts: [...phases, other], unacknowledged: ['call_1_1_0'] }))
    expect(await stored()).toEqual([
      ['step_1_1', 5],
      ['step_1_1', 6],
      ['step_1_1', 7],
      ['step_1_2', 7],
    ])
  }))
