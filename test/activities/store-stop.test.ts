import { expect, test } from 'vitest'
import { storeStop } from '../../src/activities/store-stop.js'
import type { StoreStopInput } from '../../src/protocol/end-activities.js'
import { insertRun, updateRun } from '../../src/store/threads/runs.js'
import { isStopStored } from '../../src/store/threads/stops.js'
import { attempt, modelInput, NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const RUN = { thread_id: 't', number: 1, trigger_kind: 'message', started_at: NOW } as const

async function run({ dependencies }: ActivityDesk, by: StoreStopInput['by']): Promise<void> {
  const { level, threadId, now, facts } = modelInput()
  const input: StoreStopInput = { level, threadId, now, facts, run: 1, by }
  await attempt().run((given: StoreStopInput) => storeStop(dependencies, given), input)
}

test('a stop that came through Temporal alone is stored while its run is open', () =>
  withDesk({}, async (desk) => {
    const isStored = () => desk.store.read((db) => isStopStored(db, { threadId: 't', run: 1 }))
    await desk.store.write((tx) => insertRun(tx, RUN))
    await run(desk, 'stop')
    expect(await isStored()).toBe(true)
  }))

test('a stop of a run that has ended is not stored', () =>
  withDesk({}, async (desk) => {
    const isStored = () => desk.store.read((db) => isStopStored(db, { threadId: 't', run: 1 }))
    await desk.store.write((tx) => insertRun(tx, RUN))
    await desk.store.write((tx) => updateRun(tx, { threadId: 't', number: 1 }, { ended_at: NOW }))
    await run(desk, 'stop')
    expect(await isStored()).toBe(false)
    // A termination concerns what the thread does otherwise, too.
    await run(desk, 'terminate')
    expect(await isStored()).toBe(true)
  }))
