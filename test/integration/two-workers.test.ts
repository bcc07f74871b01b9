import { afterAll, beforeAll, expect, test } from 'vitest'

import { recordedRuns } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

let fixture: Fixture

beforeAll(async () => {
  fixture = await createFixture()
  await Promise.all([fixture.startWorker(), fixture.startWorker()])
})
afterAll(() => fixture.close())

const NAMES = Array.from({ length: 8 }, (_, index) => `shared-${index}`)

test('two workers share threads, and nothing is done twice', async () => {
  const create = (id: string) => fixture.create({ id, message: marked(`please book #${id}`) })
  const threads = await Promise.all(NAMES.map(create))
  await Promise.all(threads.map((thread) => thread.waitUntilIdle({ timeout: '100 s' })))
  await Promise.all(threads.map((thread) => thread.send(marked(`please charge #${thread.threadId}`))))
  await Promise.all(threads.map((thread) => thread.waitUntilIdle({ timeout: '100 s' })))
  for (const thread of threads) {
    const rows = await wholeTranscript(thread)
    const turn = ['user', 'assistant', 'tool', 'assistant']
    expect(rows.map(({ role }) => role)).toEqual([...turn, ...turn])
    expect(await fixture.effects(thread.threadId)).toMatchObject([{ tool: 'book' }, { tool: 'charge' }])
    expect(fixture.model.requests(thread.threadId)).toHaveLength(4)
    await expectWholeLog(thread)
  }
  const runs = await Promise.all(NAMES.map((id) => recordedRuns(fixture.threads.temporal, id)))
  expect(new Set(runs.flat().flatMap(workersOf)).size).toBe(2)
})

/** Which processes ran activities of a thread. */
function workersOf({ history }: RecordedRun): readonly string[] {
  return (history.events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
    started?.identity == null ? [] : [started.identity],
  )
}
