import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activityEvents, recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import type { Death } from './worker/death.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { caseOf } from './worker/model-script.js'
import type { ChatMessage } from './worker/model-script.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

/** Each thread books so many times, one by one, and then it is done. */
const BOOKINGS = 5
/** The booking that waits where a message says so. */
const HELD = 3

function answerer(messages: readonly ChatMessage[]) {
  const name = caseOf(messages)
  const booked = messages.filter(({ role }) => role === 'tool').length
  if (booked === BOOKINGS) return { text: marked(`All is done for #${name} now.`) }
  const hold = booked + 1 === HELD && JSON.stringify(messages).includes('hold the third')
  const input = { task: marked(`Number ${booked + 1} of #${name}`), hold }
  return { toolCalls: [{ name: 'book', input: JSON.stringify(input) }] }
}

/** The actions of a thread, by the names of their activities. */
async function actions(fixture: Fixture, id: string): Promise<readonly string[]> {
  const events = activityEvents(await recordedRuns(fixture.threads.temporal, id))
  return events.flatMap(({ kind, activity }) =>
    kind === 'scheduled' && activity !== 'thread.storeStop' ? [activity] : [],
  )
}

/** Each tool has acted once, whatever its result says. */
async function expectBookedOnce(fixture: Fixture, id: string, times = BOOKINGS): Promise<void> {
  const acted = (await fixture.effects(id)).filter(({ did }) => did === 'acted')
  expect(acted.map(({ attempt }) => attempt)).toEqual(Array.from({ length: times }, () => 1))
  expect(new Set(acted.map(({ key }) => key)).size).toBe(times)
}

interface Crash {
  readonly title: string
  /** Where its process dies: at a commit, while the model is asked, or in the third tool. */
  readonly at: Transaction | { readonly request: number } | 'in the third tool'
  /** The first step whose request has the message that was sent meanwhile. */
  readonly seen: number
  readonly requests: number
  /** The booking of which nobody knows whether it was done, and whether it was. @default none */
  readonly unknown?: { readonly booking: number; readonly isDone: boolean }
}

type Transaction = Pick<Death, 'operation' | 'state' | 'when'>

const committed = 'after its commit'
const uncommitted = 'before its commit'
const ALL = BOOKINGS + 1

const WITHIN: readonly Crash[] = [
  { title: 'in its first model call', at: { request: 1 }, seen: 2, requests: ALL + 1 },
  {
    ...{ title: 'in a tool', at: 'in the third tool', seen: 4, requests: ALL },
    unknown: { booking: HELD, isDone: true },
  },
  { title: 'in a later model call', at: { request: 3 }, seen: 4, requests: ALL + 1 },
]

type CrashAt = Omit<Crash, 'title'> & { readonly at: Transaction }

/** The transactions of the first step, in their order: before and after the commit of each. The last one begins the tool. */
const FIRST: readonly CrashAt[] = [
  { at: { operation: 'model_1_1', state: 'drained', when: uncommitted }, seen: 2, requests: ALL },
  { at: { operation: 'model_1_1', state: 'drained', when: committed }, seen: 2, requests: ALL },
  { at: { operation: 'model_1_1', state: 'started', when: uncommitted }, seen: 2, requests: ALL },
  { at: { operation: 'model_1_1', state: 'started', when: committed }, seen: 2, requests: ALL },
  { at: { operation: 'model_1_1', state: 'finished', when: uncommitted }, seen: 2, requests: ALL + 1 },
  {
    at: { operation: 'model_1_1', state: 'finished', when: committed },
    ...{ seen: 2, requests: ALL, unknown: { booking: 1, isDone: false } },
  },
]

/** Those of the third step: the first one also ends the tool before it, the second one begins its tool, the third one the next step. */
const THIRD: readonly CrashAt[] = [
  {
    at: { operation: 'model_1_3', state: 'started', when: uncommitted },
    ...{ seen: 3, requests: ALL, unknown: { booking: 2, isDone: true } },
  },
  { at: { operation: 'model_1_3', state: 'started', when: committed }, seen: 4, requests: ALL },
  { at: { operation: 'model_1_3', state: 'finished', when: uncommitted }, seen: 4, requests: ALL + 1 },
  {
    at: { operation: 'model_1_3', state: 'finished', when: committed },
    ...{ seen: 4, requests: ALL, unknown: { booking: 3, isDone: false } },
  },
  {
    at: { operation: 'call_1_3_0', state: 'finished', when: uncommitted },
    ...{ seen: 4, requests: ALL, unknown: { booking: 3, isDone: true } },
  },
  { at: { operation: 'call_1_3_0', state: 'finished', when: committed }, seen: 5, requests: ALL },
]

/** The transaction with which the burst and its run end. */
const LAST: readonly { readonly at: Transaction; readonly requests: number }[] = [
  { at: { operation: 'settle_1', state: 'finished', when: uncommitted }, requests: ALL + 1 },
  { at: { operation: 'settle_1', state: 'finished', when: committed }, requests: ALL },
]

const titled = <C extends { readonly at: Transaction }>(crash: C): C & { readonly title: string } => ({
  ...crash,
  title: `${crash.at.operation} ${crash.at.state}, ${crash.at.when}`,
})

const CRASHES = [...WITHIN, ...[...FIRST, ...THIRD].map(titled)]

describe('kill -9 in mid-burst', () => {
  let fixture: Fixture
  let fleet: Fleet
  beforeAll(async () => {
    fixture = await createFixture({ answerer, runAhead: 10 })
    fleet = await startFleet(fixture)
  })
  afterAll(() => fixture.close())

  test.for(CRASHES)('T3 T4 SA-R-01.2 $title', async (crash, { task }) => {
    const { at, seen, requests, unknown } = crash
    const id = `ahead-${task.id.replaceAll(/\W/g, '')}`
    const holds = at === 'in the third tool'
    const held =
      typeof at === 'object' && 'request' in at ? fixture.model.hold(id, 'middle', at.request) : null
    if (typeof at === 'object' && 'operation' in at) fleet.dieAt({ threadId: id, of: 'thread', ...at })
    const thread = await fixture.create({
      id,
      message: marked(`please ${holds ? 'hold the third of' : 'book'} #${id}`),
    })
    if (holds) await until('the third tool', async () => (await fixture.effects(id)).length === HELD)
    if (held !== null) await held.arrived
    if (holds || held !== null) await fleet.kill()
    await fleet.waitForDeath()
    await thread.send(marked('And this.'))
    await fleet.replaceDead()
    expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ runId: 'run_1', steps: ALL })
    const rows = await wholeTranscript(thread)
    const isSent = ({ content }: { readonly content: string | null }) => content === marked('And this.')
    expect(rows.filter(isSent)).toHaveLength(1)
    const before = rows.slice(0, rows.findIndex(isSent))
    expect(before.filter(({ role }) => role === 'assistant')).toHaveLength(seen - 1)
    expect((await toolResults(thread)).map(({ tool_status: status }) => status)).toEqual(
      Array.from({ length: BOOKINGS }, (_, index) => (index + 1 === unknown?.booking ? 'error' : 'success')),
    )
    await expectBookedOnce(fixture, id, unknown?.isDone === false ? BOOKINGS - 1 : BOOKINGS)
    expect(fixture.model.requests(id)).toHaveLength(requests)
    expect(await actions(fixture, id)).toEqual(['thread.callModel', 'thread.callModel'])
    expect((await thread.snapshot()).queue).toEqual([])
    await expectWholeLog(thread)
  })

  test.for(LAST.map(titled))('T4 T8 at the end, $title', async ({ at, requests }, { task }) => {
    const id = `ahead-end-${task.id.replaceAll(/\W/g, '')}`
    fleet.dieAt({ threadId: id, of: 'thread', ...at })
    const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
    await fleet.waitForDeath()
    await fleet.replaceDead()
    expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ runId: 'run_1', steps: ALL })
    await expectBookedOnce(fixture, id)
    expect(fixture.model.requests(id)).toHaveLength(requests)
    expect(await actions(fixture, id)).toEqual(['thread.callModel'])
    await expectWholeLog(thread)
  })
})

describe('a stop while the worker is dead', () => {
  let fixture: Fixture
  let fleet: Fleet
  beforeAll(async () => {
    fixture = await createFixture({ answerer, runAhead: 10 })
    fleet = await startFleet(fixture)
  })
  afterAll(() => fixture.close())

  test('T8 T9 the run that it ends has the steps that nobody heard of', async () => {
    const id = 'ahead-stop'
    const thread = await fixture.create({ id, message: marked(`please hold the third of #${id}`) })
    await until('the third tool', async () => (await fixture.effects(id)).length === HELD)
    await fleet.kill()
    await thread.stop()
    await fleet.replaceDead()
    const run = await thread.waitUntilIdle({ timeout: '100 s' })
    expect(run).toMatchObject({ status: 'stopped', reason: 'stopped', runId: 'run_1', steps: HELD })
    const statuses = (await toolResults(thread)).map(({ tool_status: status }) => status)
    expect(statuses).toEqual(['success', 'success', 'error'])
    expect(await fixture.effects(id)).toHaveLength(HELD)
    expect((await thread.snapshot()).lastRun).toMatchObject({ steps: HELD })
    await expectWholeLog(thread)
  })
})

describe('SIGTERM in mid-burst', () => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await createFixture({ answerer, runAhead: 10, ownActivities: true })
  })
  afterAll(() => fixture.close())

  test('a burst ends with its step, and another worker goes on', async () => {
    const id = 'ahead-deploy'
    const worker = await fixture.startWorker()
    const held = fixture.model.hold(id, 'middle', 2)
    const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
    await held.arrived
    await worker.drain()
    held.release()
    expect(await worker.gone).toBe(0)
    expect(fixture.model.requests(id)).toHaveLength(2)
    expect((await fixture.effects(id)).length).toBe(2)
    const next = await fixture.startWorker()
    expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_1', steps: ALL })
    expect(fixture.model.requests(id)).toHaveLength(ALL)
    await expectBookedOnce(fixture, id)
    expect(await actions(fixture, id)).toEqual(['thread.callModel', 'thread.callModel'])
    await expectWholeLog(thread)
    await next.kill()
  })

  test('a tool cut by a deploy in mid-burst is unknown, once', async () => {
    const id = 'ahead-deploy-cut'
    const worker = await fixture.startWorker({ graceTime: 200 })
    const thread = await fixture.create({ id, message: marked(`please hold the third of #${id}`) })
    await until('the third tool', async () => (await fixture.effects(id)).length === HELD)
    await worker.shutDown()
    const next = await fixture.startWorker()
    expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_1', steps: ALL })
    const statuses = (await toolResults(thread)).map(({ tool_status: status }) => status)
    expect(statuses).toEqual(['success', 'success', 'error', 'success', 'success'])
    await expectBookedOnce(fixture, id)
    await expectWholeLog(thread)
    await next.kill()
  })
})
