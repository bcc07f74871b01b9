import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
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

type At = Omit<Death, 'threadId'>

const before = { when: 'before its commit' } as const
const after = { when: 'after its commit' } as const
const prepared = { of: 'thread', operation: 'call_1_1_0', state: 'finished' } as const
const drained = { of: 'child', operation: 'model_1_1', state: 'drained' } as const
const answered = { of: 'child', operation: 'model_1_1', state: 'finished' } as const
const delivered = { of: 'child', operation: 'report_1', state: 'finished' } as const
const settled = { of: 'child', operation: 'settle_1', state: 'finished' } as const
const completed = { of: 'thread', operation: 'call_1_1_0_result', state: 'finished' } as const

const CRASHES: readonly (readonly [title: string, at: At])[] = [
  ['a child is prepared anew when its rows are not committed', { ...prepared, ...before }],
  ['a child whose rows are committed is started once', { ...prepared, ...after }],
  ['K-8 a child goes on when killed after its start', { ...drained, ...before }],
  ['a child goes on after its committed answer', { ...answered, ...after }],
  ['a report that was not committed is delivered once', { ...delivered, ...before }],
  ['K-8 a delivered report is announced by the next worker', { ...delivered, ...after }],
  ['a child that delivered its report settles once', { ...settled, ...before }],
  ['a settled child announces its one report', { ...settled, ...after }],
  ['a result that was not committed is written once', { ...completed, ...before }],
  ['SA-R-13.3 SA-R-01.2 a committed result of a child is kept', { ...completed, ...after }],
]

test.for(CRASHES)('%s', async ([, at], { task }) => {
  const id = `child-${task.id.replaceAll(/\W/g, '')}`
  fleet.dieAt({ threadId: id, ...at })
  await research(id)
  await fleet.replaceDead()
  await expectResearched(id)
  expect(fixture.model.requests(id)).toHaveLength(3)
})

test('K-8 a model call of a child cut in its middle is repeated', async ({ task }) => {
  const id = `child-${task.id.replaceAll(/\W/g, '')}`
  const held = fixture.model.hold(id, 'middle', 2)
  await research(id)
  await held.arrived
  await fleet.kill()
  await fleet.replaceDead()
  await expectResearched(id)
  expect(fixture.model.requests(id)).toHaveLength(4)
})

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

function research(id: string): Promise<ThreadHandle> {
  const attachments = [{ name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(marked('Notes')) }]
  return fixture.create({ id, message: { content: marked(`please research #${id}`), attachments } })
}

/** The same as without any kill: one child, which got the file once and gave it back with one result. */
async function expectResearched(id: string): Promise<void> {
  const thread = fixture.threads.get(id)
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await wholeTranscript(thread)).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: null, status: 'completed' },
    {
      role: 'tool',
      content: marked(`Found for #${id}`),
      tool_status: 'success',
      attachments: [{ size: FILE_SIZE }],
    },
    { role: 'assistant', content: marked(`All is done for #${id} now.`), status: 'completed' },
  ])
  await expectWholeLog(thread)
  expect((await thread.readdirFile('/attachments')).entries).toHaveLength(2)
  const children = await fixture.childrenOf(id)
  const { children: listed } = await thread.snapshot()
  expect(listed.map(({ reference }) => reference)).toEqual(children)
  expect(children).toHaveLength(1)
  await expectChild(fixture.threads.get(children[0] ?? ''), id)
}

const FILE_SIZE = marked('Notes').length

async function expectChild(child: ThreadHandle, id: string): Promise<void> {
  expect((await child.waitUntilIdle({ timeout: '100 s' })).status).toBe('completed')
  expect(await wholeTranscript(child)).toMatchObject([
    { role: 'user', content: marked(`What is it? #${id}`), attachments: [{ size: FILE_SIZE }] },
    { role: 'assistant', content: null, status: 'completed' },
    { role: 'tool', name: 'deliver', tool_status: 'success' },
  ])
  await expectWholeLog(child)
  expect((await child.readdirFile('/attachments')).entries).toHaveLength(1)
  // Its row is closed first: a kill in between leaves the workflow to the next worker.
  expect(await child.workflow.result()).toMatchObject({ outcome: 'completed', reason: 'session_stop' })
}
