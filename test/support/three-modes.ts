import type { TestWorkflowEnvironment } from '@temporalio/testing'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Registry } from '../../src/definitions/known-definitions.js'
import { assertReplays } from '../../src/testing/index.js'
import type { TestEnvironment, TestEnvironmentOptions } from '../../src/testing/index.js'
import { allEventProblems } from './event-shapes.js'
import { foldProblem } from './folded.js'
import { recordedRuns, searchForContent } from './histories.js'
import type { RecordedRun } from './histories.js'
import { testEnvironment } from './test-store.js'
import { factsOf, phaseProblems } from './thread-facts.js'
import { sharedTimeSkippingServer, startTimeSkippingServer } from './time-skipping-server.js'
import type { TimeSkippingServer } from './time-skipping-server.js'
import { viewProblems } from './view-rules.js'

const CONTINUED = 'continued as new at every point'

/**
 * The same facts must hold however often a workflow's state is rebuilt, and whatever an activity does by itself. A run of the whole suite
 * has the default cache on PostgreSQL, where every history is replayed at the end, and continue-as-new at every point on SQLite
 * (`vitest.config.ts`). EVERTHREAD_TEST_LONG=1 runs each mode on both stores. With EVERTHREAD_TEST_RUN_AHEAD activities do so many steps in all of them.
 */
const MODES = [
  { mode: 'default cache', worker: { maxCachedWorkflows: 200 } },
  { mode: 'every task replayed', worker: { maxCachedWorkflows: 0 } },
  { mode: CONTINUED, continueAsNewEveryStep: true, runAhead: 10 },
] as const

const runAheadInAll = Number(process.env['EVERTHREAD_TEST_RUN_AHEAD'] ?? 0)

/** All of them, or the one that is named. */
const named = process.env['EVERTHREAD_TEST_MODE']
const modes = MODES.filter(({ mode }) => named === undefined || mode === named)
/** Of files that run on one store only. */
const strictModes = MODES.filter(({ mode }) => mode !== 'default cache')

export interface ModeOptions<R extends Registry> extends TestEnvironmentOptions<R> {
  /** Tests end workers: the cache of a worker that is gone blocks a thread on the time-skipping server, on no real one. */
  readonly restarts?: boolean
  /** The file runs on one store only, and so in both modes there. */
  readonly isOnOneStore?: boolean
}

/** The environment of one mode. */
export interface ModeEnvironment<R extends Registry> {
  readonly mode: string
  /** A test in which days pass at once: there is none where threads continue as new, which stops the server's skipping. */
  skippingTime(title: string, work: () => Promise<void>): void
  /** A test of the activity that each call is: there is none where one activity does several steps. */
  ofActivities(title: string, work: () => Promise<void>): void
  readonly env: TestEnvironment<R>
  /** Inline signals are in history by their sender's choice. */
  allowInline(threadId: string, signal: string): void
  /** All Temporal runs of a thread, through continue-as-new. */
  runs(threadId: string): Promise<readonly RecordedRun[]>
}

/**
 * Runs a suite of workflow tests in each of the modes, in an environment of its own; then replays the histories of all its
 * threads, children included, and searches them for content.
 */
export function threeModes<R extends Registry>(
  { restarts = false, isOnOneStore = false, ...options }: ModeOptions<R>,
  suite: (environment: ModeEnvironment<R>) => void,
): void {
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  let skips = false
  let own: TimeSkippingServer | undefined
  let server: TestWorkflowEnvironment | undefined
  beforeAll(async () => {
    if (skips || restarts) own = await startTimeSkippingServer()
    server = own?.environment ?? (await sharedTimeSkippingServer())
  })
  afterAll(() => own?.stop())

  describe.each(isOnOneStore ? strictModes : modes)('$mode', ({ mode, ...modeOptions }) => {
    const isCached = 'worker' in modeOptions && modeOptions.worker.maxCachedWorkflows > 0
    const inline: string[] = []
    const runAhead = runAheadInAll > 0 ? runAheadInAll : 'runAhead' in modeOptions && modeOptions.runAhead
    let environment: TestEnvironment<R> | undefined
    const inMode: ModeEnvironment<R> = {
      mode,
      skippingTime: (title, work) => {
        if (mode === CONTINUED) return
        skips = true
        test(title, work)
      },
      ofActivities: (title, work) => {
        if (runAhead === false) test(title, work)
      },
      get env() {
        if (environment === undefined) throw new Error('The environment is not there before the first test.')
        return environment
      },
      allowInline: (threadId, signal) => void inline.push(`${threadId}/${signal}`),
      runs: (threadId) => recordedRuns(inMode.env.threads.temporal, threadId),
    }

    beforeAll(async () => {
      const started = restarts && isCached ? 'dev' : (server ?? 'time-skipping')
      const worker = { ...options.worker, ...('worker' in modeOptions && modeOptions.worker), workflowBundle }
      environment = await testEnvironment({ server: started, ...modeOptions, runAhead, ...options, worker })
    })
    afterAll(() => environment?.close())

    suite(inMode)

    // Without a cache each task of each thread was a replay already.
    if (isCached || mode === CONTINUED)
      test('SA-R-01.0 every history of this file replays', async () => {
        const runs = await allRuns(inMode)
        expect(await assertReplays(runs, { workflowBundle })).toBe(runs.length)
        const threads = new Set(runs.map(({ workflowId }) => workflowId)).size
        expect(threads).toBeGreaterThan(0)
        if (mode === CONTINUED) expect(runs.length).toBeGreaterThan(2 * threads)
      })

    test('every stored event has the payload that its type promises', async () => {
      expect(await allEventProblems(inMode.env.store)).toEqual([])
    })

    test('AR-VA.1 the events of every thread of this file fold into its snapshot', async () => {
      const problems: string[] = []
      for await (const { threadId } of inMode.env.threads.list()) {
        const problem = await foldProblem(inMode.env.threads.get(threadId))
        if (problem !== null) problems.push(problem)
      }
      expect(problems).toEqual([])
    })

    test('AR-EN.1 every event of this file fits the one schema, with an id of its own and its place', async () => {
      const ids: (string | undefined)[] = []
      for await (const { threadId } of inMode.env.threads.list()) {
        // Each is held against the schema there.
        const facts = await factsOf(inMode.env.threads.get(threadId))
        expect(facts.map(({ sequence }) => sequence)).toEqual(facts.map((_fact, index) => index + 1))
        expect(facts.filter(({ runtimeId }) => runtimeId !== inMode.env.store.id)).toEqual([])
        ids.push(...facts.map(({ eventId }) => eventId))
      }
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.length).toBeGreaterThan(10)
    })

    test('SA-R-03.0 every step of this file has its phases and their work in order', async () => {
      const problems: string[] = []
      let phases = 0
      for await (const { threadId } of inMode.env.threads.list()) {
        const facts = await factsOf(inMode.env.threads.get(threadId))
        phases += facts.filter(({ type }) => type === 'step.phase').length
        problems.push(...phaseProblems(facts).map((problem) => `${threadId} ${problem}`))
      }
      expect(problems).toEqual([])
      expect(phases).toBeGreaterThan(6)
    })

    test('AR-EN.1 AR-RM.1 PL-EV.2 each view of each thread has its shape, its numbers, and one end for each turn', async () => {
      const problems: string[] = []
      for await (const { threadId, agent, status, root: sessionId } of inMode.env.threads.list()) {
        const facts = await factsOf(inMode.env.threads.get(threadId))
        const subject = { threadId, sessionId, runtimeId: inMode.env.store.id, agent }
        const rests = status !== 'running' && facts.at(-1)?.type.startsWith('run.') === true
        problems.push(...viewProblems(subject, facts, { rests }))
      }
      expect(problems).toEqual([])
    })

    test('no text, argument or result is in a history', async () => {
      const runs = await allRuns(inMode)
      const { bytes, leaks } = searchForContent(runs, inline)
      process.stdout.write(`searched ${bytes} bytes of ${runs.length} runs\n`)
      expect(leaks).toEqual([])
      expect(bytes).toBeGreaterThan(1000)
    })
  })
}

async function allRuns<R extends Registry>({
  env,
  runs,
}: ModeEnvironment<R>): Promise<readonly RecordedRun[]> {
  const all: RecordedRun[] = []
  for await (const { threadId } of env.threads.list()) all.push(...(await runs(threadId)))
  return all
}
