import { afterAll, beforeAll, expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import type { Death } from './worker/death.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

let fixture: Fixture
let fleet: Fleet

beforeAll(async () => {
  fixture = await createFixture()
  fleet = await startFleet(fixture)
})
afterAll(() => fixture.close())

type At = Pick<Death, 'operation' | 'state' | 'when'>

const first = 'model_1_1'
const second = 'model_1_2'
const drained = { operation: first, state: 'drained' } as const
const started = { operation: first, state: 'started' } as const
const finished = { operation: first, state: 'finished' } as const
const later = { operation: second, state: 'started' } as const
const before = { when: 'before its commit' } as const
const after = { when: 'after its commit' } as const

/** How often the model is asked: one request for each of two steps, one more where the kill lost an answer. */
const COMMITS: readonly (readonly [title: string, requests: number, at: At])[] = [
  ['a worker killed before the drain commits delivers once', 2, { ...drained, ...before }],
  ['a worker killed after the drain commits delivers once', 2, { ...drained, ...after }],
  ['a worker killed before the call is recorded asks once', 2, { ...started, ...before }],
  ['K-9 a worker killed before the provider hears asks once', 2, { ...started, ...after }],
  ['a worker killed with an uncommitted answer asks again', 3, { ...finished, ...before }],
  ['SA-R-01.2 a committed answer is never asked for again', 2, { ...finished, ...after }],
  // It drains nothing: its drain is part of this transaction.
  ['a worker killed before a later call is recorded asks once', 2, { ...later, ...before }],
  ['K-9 a worker killed before the provider hears of a later call asks once', 2, { ...later, ...after }],
  // The run is settled by the same transaction.
  [
    'a last answer that was not committed is repeated',
    3,
    { operation: second, state: 'finished', ...before },
  ],
  ['SA-R-01.2 a committed last answer is kept', 2, { operation: second, state: 'finished', ...after }],
]

test.for(COMMITS)('%s', async ([, requests, at], { task }) => {
  const id = caseName(task.id)
  fleet.dieAt({ threadId: id, of: 'thread', ...at })
  const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
  await fleet.replaceDead()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(fixture.model.requests(id)).toHaveLength(requests)
  await expectBooked(id)
})

const HELD = [
  ['a call killed before its answer begins is repeated', 'before'],
  ['K-9 a call killed while its answer streams is repeated', 'middle'],
] as const

test.for(HELD)('%s', async ([, where], { task }) => {
  const id = caseName(task.id)
  const held = fixture.model.hold(id, where)
  const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
  await held.arrived
  await fleet.kill()
  await fleet.replaceDead()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(fixture.model.requests(id)).toHaveLength(3)
  await expectBooked(id)
})

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

/** The same as without any kill: one booking, four rows, one run, nothing told twice. */
async function expectBooked(id: string): Promise<void> {
  const thread = fixture.threads.get(id)
  expect(await wholeTranscript(thread)).toMatchObject([
    { role: 'user', content: marked(`please book #${id}`) },
    { role: 'assistant', content: null, status: 'completed' },
    { role: 'tool', content: marked('book done'), tool_status: 'success' },
    { role: 'assistant', content: marked(`All is done for #${id} now.`), status: 'completed' },
  ])
  expect(await fixture.effects(id)).toMatchObject([{ tool: 'book', did: 'acted', attempt: 1 }])
  const snapshot = await thread.snapshot()
  expect(snapshot).toMatchObject({ status: 'idle', stale: false, lastRun: { runId: 'run_1', steps: 2 } })
  await expectWholeLog(thread)
}

function caseName(taskId: string): string {
  return `model-${taskId.replaceAll(/\W/g, '')}`
}
