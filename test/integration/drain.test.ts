import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { countHistories, isLostWithPoll } from './worker/history-counts.js'
import type { WorkerProcess } from './worker/run-worker.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

describe('one of two workers is drained', () => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await createFixture()
  })
  afterAll(() => fixture.close())

  test('its stream ends with it, and the other one takes what is new', async () => {
    const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()])
    const held = fixture.model.hold('drain', 'middle')
    const thread = await fixture.create({ id: 'drain', message: marked('Hello #drain') })
    await held.arrived
    const { drained, stays } = await pickWorker('drain', workers)
    const end = { pid: drained.pid, at: Date.now() }
    // Not before: until it has its signal, it takes what is new.
    await drained.drain()
    const names = Array.from({ length: 10 }, (_, index) => `drain-new-${index}`)
    const fresh = await Promise.all(
      names.map((id) => fixture.create({ id, message: marked(`please book #${id}`) })),
    )
    await Promise.all(fresh.map((one) => one.waitUntilIdle()))
    for (const name of names) expect(await activityWorkers(name)).toEqual([stays.pid])
    held.release()
    expect(await drained.gone).toBe(0)
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    expect(fixture.model.requests('drain')).toHaveLength(1)
    for (const name of names) expect(await fixture.effects(name)).toHaveLength(1)
    for (const one of [thread, ...fresh]) await expectWholeLog(one)
    const { failedTasks, unanswered } = await countHistories(fixture.threads.temporal, ['drain', ...names])
    const unexplained = unanswered.filter((task) => !isLostWithPoll(task, [end]))
    expect([failedTasks, unexplained]).toEqual([[], []])
  })

  /** Which process runs the thread's model call. */
  async function pickWorker(
    name: string,
    workers: readonly WorkerProcess[],
  ): Promise<{ readonly drained: WorkerProcess; readonly stays: WorkerProcess }> {
    // An activity's start is in history when it has ended; until then it is in the description.
    const { raw } = await fixture.threads.temporal.workflow.getHandle(name).describe()
    const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity ?? ''
    const drained = workers.find(({ pid }) => identity.startsWith(`${pid}@`))
    const stays = workers.find((worker) => worker !== drained)
    if (drained === undefined || stays === undefined) throw new Error(`Expected a worker, got ${identity}.`)
    return { drained, stays }
  }

  async function activityWorkers(name: string): Promise<readonly number[]> {
    const runs = await recordedRuns(fixture.threads.temporal, name)
    const identities = runs.flatMap(({ history }) =>
      (history.events ?? []).flatMap(
        ({ activityTaskStartedEventAttributes: started }) => started?.identity ?? [],
      ),
    )
    return [...new Set(identities.map((identity) => Number.parseInt(identity, 10)))]
  }
})

describe('one of two workers is drained with too little time', () => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await createFixture({ graceTime: 500 })
  })
  afterAll(() => fixture.close())

  test('the other one repeats its call, and no task fails', async () => {
    const name = 'drain-cut'
    const first = await fixture.startWorker()
    const held = fixture.model.hold(name, 'middle')
    const thread = await fixture.create({ id: name, message: marked(`Hello #${name}`) })
    await held.arrived
    await fixture.startWorker()
    const end = { pid: first.pid, at: Date.now() }
    await first.shutDown()
    expect(await first.gone).toBe(0)
    await until('a second request', () => fixture.model.requests(name).length === 2)
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    const rows = await wholeTranscript(thread)
    expect(rows.map(({ role, status }) => [role, status])).toEqual([
      ['user', 'completed'],
      ['assistant', 'completed'],
    ])
    expect(fixture.model.requests(name)).toHaveLength(2)
    await expectWholeLog(thread)
    const { failedTasks, unanswered } = await countHistories(fixture.threads.temporal, [name])
    const unexplained = unanswered.filter((task) => !isLostWithPoll(task, [end]))
    expect([failedTasks, unexplained]).toEqual([[], []])
  })
})
