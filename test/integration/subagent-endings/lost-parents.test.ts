import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../../src/client/index.js'
import { marked } from '../../support/marker.js'
import { payload, signalRaw } from '../../support/raw-messages.js'
import { resetWorkflow } from '../../support/reset-workflow.js'
import { toolResults } from '../../support/thread-facts.js'
import { until } from '../../support/until.js'
import { allRows, expectOnce, expectRunning, expectTold } from './expect-told.js'
import { wordsOf } from './model.js'
import { KINDS, PATIENCE, PAUSE, TELLING_KINDS, createPlace, startScene, within } from './scene.js'
import type { Place, Scene } from './scene.js'

let place: Place

beforeAll(async () => {
  place = await createPlace()
  await place.fixture.startWorker()
})
afterAll(() => place.fixture.close())

const timeout = 180_000
const CASES = KINDS.map((kind) => ({ kind, of: kind.name }))
const TELLING = TELLING_KINDS.map((kind) => ({ kind, of: kind.name }))
const BLOCKING = TELLING.filter(({ kind }) => kind.blocking)

/** With the name of its case: one parent each. */
function scene(name: string, options: Omit<Parameters<typeof startScene>[1], 'id'>): Promise<Scene> {
  return startScene(place, { ...options, id: `${name}-${options.kind.name}` })
}

async function expectClosed({ child }: Scene, status: string): Promise<void> {
  await until(
    'a closed child',
    async () => (await child.workflow.describe()).status.name !== 'RUNNING',
    PATIENCE,
    PAUSE,
  )
  expect((await child.snapshot()).status).toBe(status)
}

test.concurrent.for(CASES)(
  'SA-A-07.13b a parent of $of is terminated first',
  { timeout },
  async ({ kind }) => {
    const family = await scene('terminated', { kind })
    await family.parent.terminate({ reason: marked('Enough') })
    await expectClosed(family, 'terminated')
    family.worker.release()
    await expectRunning(place, family.parent, [])
    expect((await family.parent.snapshot()).children).toMatchObject([{ status: 'terminated' }])
    const rows = await allRows(family.parent)
    expect(rows.filter(({ role, subagent_id }) => role === 'user' && subagent_id !== null)).toEqual([])
    expect(await toolResults(family.parent)).toHaveLength(1)
  },
)

test.concurrent.for(CASES)(
  'K-8 a parent of $of is killed by an operator first',
  { timeout },
  async ({ kind }) => {
    const family = await scene('killed', { kind })
    await family.parent.workflow.terminate('operator')
    family.worker.release()
    await expectClosed(family, kind.stays ? 'terminated' : 'completed')
    await expectRunning(place, family.parent, [])
    expect((await family.parent.snapshot()).status).toBe('lost')
    // What it had to say is in the store, for whoever opens the parent again.
    expect((await family.parent.snapshot()).children).toMatchObject([
      { status: kind.stays ? 'terminated' : 'completed' },
    ])
  },
)

test.concurrent.for(TELLING)(
  'T7 a stopped parent of $of learns the end later',
  { timeout },
  async ({ kind }) => {
    const family = await scene('stopped', { kind })
    const { parent, child, worker, id } = family
    if (kind.blocking) await parent.stop({ children: false })
    worker.release()
    if (!kind.blocking) await parent.stop()
    await until('the words', async () => (await allRows(parent)).some(tells(id)), PATIENCE, PAUSE)
    await parent.waitUntilIdle({ timeout: PATIENCE })
    if (kind.blocking) {
      const [result] = await toolResults(parent)
      expect(result?.content).toContain('interrupted')
      const queued = async (): Promise<boolean> => (await parent.snapshot()).queue[0]?.kind === 'report'
      await until('the item', queued, PATIENCE, PAUSE)
    }
    await parent.continue()
    const words = wordsOf(id, 'deliver one')
    await expectTold(family, { words, status: 'completed', closed: !kind.stays, file: true, blocking: false })
    expect((await child.snapshot()).lastRun).toMatchObject({ reason: 'session_stop' })
  },
)

test.concurrent.for(BLOCKING)('K-10 a stop of a parent stops $of', { timeout }, async ({ kind }) => {
  const family = await scene('interrupted', { kind })
  await family.parent.stop()
  expect(await family.parent.waitUntilIdle({ timeout: PATIENCE })).toMatchObject({ reason: 'stopped' })
  await until('the report', async () => (await family.parent.snapshot()).queue.length === 1, PATIENCE, PAUSE)
  expect(await toolResults(family.parent)).toMatchObject([
    { content: expect.stringContaining('interrupted') },
  ])
  await family.parent.continue()
  const words = '(stopped): it was interrupted'
  await expectTold(family, { words, status: 'failed', closed: !kind.stays, blocking: false })
})

const PAUSES = [0, 5, 20, 60]

test.concurrent.for(CASES)('T7 $of and its parent end at once', { timeout }, async ({ kind }) => {
  for (const pause of PAUSES) {
    const family = await startScene(place, { kind, id: `both-${kind.name}-${pause}` })
    family.worker.release()
    await new Promise((resolve) => setTimeout(resolve, pause))
    await Promise.all([family.parent.terminate(), family.child.terminate().catch(isClosed)])
    await until('both closed', async () => (await family.parent.snapshot()).stale, PATIENCE, PAUSE)
    await expectRunning(place, family.parent, [])
    const rows = await allRows(family.parent)
    expect(rows.filter(tells(family.id)).length).toBeLessThanOrEqual(1)
    expect(await toolResults(family.parent)).toHaveLength(1)
    expect(['terminated', 'completed']).toContain((await family.parent.snapshot()).children[0]?.status)
  }
})

test.concurrent('T7 a blocking message crosses an older result', { timeout }, async () => {
  const kind = KINDS.find(({ name }) => name === 'stay_wait')
  if (kind === undefined) throw new Error('Expected a kind that stays and is waited for.')
  const family = await startScene(place, { kind, id: 'crossing' })
  const { parent, child, worker, id } = family
  // Its call waits no longer, and its session goes on.
  await parent.stop({ children: false })
  await parent.waitUntilIdle({ timeout: PATIENCE })
  await parent.send(marked(`please tell ${child.threadId}: Task: deliver second #${id}`))
  await until(
    'the message in the queue',
    async () => (await child.snapshot()).queue.length === 1,
    PATIENCE,
    PAUSE,
  )
  const second = place.model.hold(id, 'worker')
  worker.release()
  await within('the next session', second.arrived)
  await until('the older words', async () => (await allRows(parent)).some(tells(id)), PATIENCE, PAUSE)
  // The call waits for its own answer.
  expect(await toolResults(parent)).toHaveLength(1)
  expect((await parent.snapshot()).status).toBe('running')
  second.release()
  const older = { words: wordsOf(id, 'deliver one'), status: 'completed', closed: false, file: true }
  await until('two results', async () => (await toolResults(parent)).length === 2, PATIENCE, PAUSE)
  await parent.waitUntilIdle({ timeout: PATIENCE })
  expect((await toolResults(parent))[1]?.content).toContain(wordsOf(id, 'deliver second'))
  const rows = (await allRows(parent)).filter(
    ({ content }) => content?.includes('deliver second is done') === true,
  )
  expect(rows).toHaveLength(1)
  await expectOnce(family, { ...older, blocking: false })
})

const STAYING = TELLING.filter(({ kind }) => kind.stays)

test.concurrent.for(STAYING)('T7 a reset of $of keeps its second task', { timeout }, async ({ kind }) => {
  const family = await scene('reset', { kind })
  const { parent, child, worker, id } = family
  worker.release()
  // Taken, not only stored: two messages that its model sees together are answered together.
  await until('the first words', async () => (await said(parent, id, 'deliver one')) > 0, PATIENCE, PAUSE)
  await parent.waitUntilIdle({ timeout: PATIENCE })
  const second = place.model.hold(id, 'worker')
  await parent.send(marked(`please tell ${child.threadId}: Task: deliver second #${id}`))
  await within('the second task', second.arrived)
  await resetWorkflow(child.workflow)
  second.release()
  await until('the second words', async () => (await said(parent, id, 'deliver second')) > 0, PATIENCE, PAUSE)
  await parent.waitUntilIdle({ timeout: PATIENCE, children: true })
  expect(await said(parent, id, 'deliver second')).toBe(1)
  expect(await said(parent, id, 'deliver one')).toBe(1)
  expect((await allRows(parent)).at(-1)?.role).toBe('assistant')
})

test.concurrent('T10 signals that look like reports answer nothing', { timeout }, async () => {
  const kind = KINDS.find(({ name }) => name === 'once_wait')
  if (kind === undefined) throw new Error('Expected a kind that is waited for.')
  const family = await startScene(place, { kind, id: 'forged' })
  const report = { reference: 'nobody', report: 1, invocations: ['call_1_1_0'], kind: 'result' }
  for (const forged of [report, { ...report, reference: family.child.threadId, invocations: [] }, {}])
    await signalRaw(place.fixture.threads.temporal, {
      threadId: family.parent.threadId,
      signal: 'childReport',
      input: payload('json/plain', JSON.stringify(forged)),
    })
  family.worker.release()
  const words = wordsOf(family.id, 'deliver one')
  await expectTold(family, { words, status: 'completed', closed: true, file: true })
})

async function said(parent: ThreadHandle, id: string, task: string): Promise<number> {
  const rows = await allRows(parent)
  return rows.filter(
    ({ role, content, position }) =>
      role !== 'assistant' && position !== null && content?.includes(wordsOf(id, task)) === true,
  ).length
}

function tells(id: string) {
  return ({ role, content }: { readonly role: string; readonly content: string | null }): boolean =>
    role !== 'assistant' && content?.includes(wordsOf(id, 'deliver one')) === true
}

function isClosed(error: unknown): void {
  expect(error).toBeInstanceOf(Error)
}
