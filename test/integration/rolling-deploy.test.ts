import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { IS_LONG } from '../support/long.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { bundleNextVersion } from './rolling-deploy/bundle-next-version.js'
import { countHistories, inTurns, isLostWithPoll } from './worker/history-counts.js'
import { setCurrentVersion } from './rolling-deploy/deployment.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

/** A tenth of them streams while the workers are replaced, a tenth is stuck, a tenth works. */
const TENTH = IS_LONG ? 20 : 6
const THREADS = 10 * TENTH
const names = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `roll-${from + index}`)
const ALL = names(0, THREADS)
/** Their model call is in the middle of its answer, and goes on within the grace time. */
const STREAMING = names(0, TENTH)
/** Theirs does not: it is cut, and another worker repeats it. */
const STUCK = names(TENTH, 2 * TENTH)
/** A tool of theirs is running, and is cut. */
const WORKING = names(2 * TENTH, 3 * TENTH)
const MID_TURN = names(0, 3 * TENTH)
/** Are asked while the workers are replaced. */
const IDLE = names(3 * TENTH, THREADS)

/** A busy machine is no dead worker. */
const PATIENT = { heartbeatTimeout: 30_000 }

let fixture: Fixture
let folder: string
beforeAll(async () => {
  fixture = await createFixture({ graceTime: 4_000 })
  folder = await mkdtemp(join(tmpdir(), 'everthread-next-'))
})
afterAll(async () => {
  await fixture.close()
  await rm(folder, { recursive: true, force: true })
})

const say = (name: string, text: string): Promise<unknown> =>
  fixture.threads.get(name).send(marked(`${text} #${name}`))
const idle = (name: string) => fixture.threads.get(name).waitUntilIdle({ timeout: '2 minutes' })

test(`K-9 ${THREADS} open threads live through a rolling deploy`, { timeout: 400_000 }, async () => {
  const deploymentName = fixture.taskQueue
  // A new worker replays what is in mid-turn: a task that it has begun must end in ten seconds, one that waits need not.
  const old = { version: '1', deploymentName, workflowTasks: 2 }
  const [first, second] = await Promise.all([fixture.startWorker(old), fixture.startWorker(old)])
  await setCurrentVersion(fixture.threads.temporal, deploymentName, '1')
  const next = { ...old, version: '2', codePath: join(folder, 'next-version.js') }
  await writeFile(next.codePath, await bundleNextVersion())
  // Loaded before: a stream that is silent for 45 seconds has failed, deploy or not.
  const [third, fourth] = await Promise.all([fixture.prepareWorker(next), fixture.prepareWorker(next)])
  await inTurns(ALL, (id) => fixture.create({ id, message: marked(`Hello #${id}`), limits: PATIENT }))
  await inTurns(ALL, idle)

  const streams = STREAMING.map((name) => fixture.model.hold(name, 'middle', 2))
  const stuck = STUCK.map((name) => fixture.model.hold(name, 'middle', 2))
  await inTurns(MID_TURN, (name) => say(name, WORKING.includes(name) ? 'please charge and hold' : 'And now?'))
  await Promise.all([...streams, ...stuck].map(({ arrived }) => arrived))
  for (const name of WORKING)
    await until('a running tool', async () => (await fixture.effects(name)).length === 1)

  const asking = askInTurn(IDLE)
  await third.run()
  await setCurrentVersion(fixture.threads.temporal, deploymentName, '2')
  const ends = [{ pid: first.pid, at: Date.now() }]
  const firstGone = first.shutDown()
  for (const stream of streams) stream.release()
  await firstGone
  await fourth.run()
  ends.push({ pid: second.pid, at: Date.now() })
  await second.shutDown()
  expect([await first.gone, await second.gone]).toEqual([0, 0])
  await asking
  await inTurns(ALL, idle)
  await inTurns(MID_TURN, (name) => say(name, 'And with the new version?'))
  await inTurns(MID_TURN, idle)

  const histories = await countHistories(fixture.threads.temporal, ALL)
  const threads = await inTurns(ALL, (name) => countThread(fixture.threads.get(name)))
  const sum = (of: (thread: ThreadCounts) => number): number =>
    threads.reduce((all, thread) => all + of(thread), 0)
  const repeated = threads.filter(({ requests, steps }) => requests > steps).map(({ name }) => name)
  process.stdout.write(
    `rolling deploy: ${histories.threads} threads, ${histories.runs} runs, ${histories.tasks} workflow tasks, ` +
      `${histories.failedTasks.length} failed, ${histories.unanswered.length} unanswered, ${histories.handedOver} handed over; ` +
      `${histories.crossed} runs met both versions, ` +
      `${histories.patched} the change; ${sum(({ sent }) => sent)} messages sent, ` +
      `${sum(({ delivered }) => delivered)} delivered; ${sum(({ steps }) => steps)} steps, ` +
      `${sum(({ requests }) => requests)} model calls, ${repeated.length} of them repeated\n`,
  )
  expect(histories.failedTasks).toEqual([])
  expect(histories.unanswered.filter((task) => !isLostWithPoll(task, ends))).toEqual([])
  expect(threads.filter(({ sent, delivered }) => sent !== delivered)).toEqual([])
  // What was cut after the grace time is paid again, and nothing else.
  expect(repeated).toEqual(STUCK)
  expect(sum(({ requests }) => requests) - sum(({ steps }) => steps)).toBe(STUCK.length)
  expect(histories.crossed).toBeGreaterThanOrEqual(MID_TURN.length)
  expect(histories.patched).toBeGreaterThanOrEqual(MID_TURN.length)
})

test('a tool that was cut by the deploy ran again with its key', async () => {
  for (const name of WORKING) {
    const effects = await fixture.effects(name)
    expect(effects.map(({ did, attempt }) => [did, attempt])).toEqual([
      ['acted', 1],
      ['aborted', 1],
      ['acted', 2],
    ])
    expect(new Set(effects.map(({ key }) => key)).size).toBe(1)
  }
})

test('a run keeps its agent, and the next one has the new', () => {
  for (const name of WORKING) {
    const told = fixture.model.requests(name).map(([system]) => JSON.stringify(system?.content))
    expect(told.map((text) => text.includes('version 2'))).toEqual([false, false, false, true])
  }
})

/** All through the deploy somebody says something. */
async function askInTurn(threads: readonly string[]): Promise<void> {
  for (const name of threads) {
    await say(name, 'And now?')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

interface ThreadCounts {
  readonly name: string
  readonly sent: number
  readonly delivered: number
  readonly steps: number
  readonly requests: number
}

async function countThread(thread: ThreadHandle): Promise<ThreadCounts> {
  const name = thread.threadId
  await expectWholeLog(thread)
  const rows = await wholeTranscript(thread)
  const of = (role: string): number => rows.filter((row) => row.role === role).length
  return {
    name,
    sent: MID_TURN.includes(name) ? 3 : 2,
    delivered: of('user'),
    steps: of('assistant'),
    requests: fixture.model.requests(name).length,
  }
}
