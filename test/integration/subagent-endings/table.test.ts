import { afterAll, beforeAll, expect, test } from 'vitest'

import { marked } from '../../support/marker.js'
import { payload, signalRaw } from '../../support/raw-messages.js'
import { resetWorkflow } from '../../support/reset-workflow.js'
import { until } from '../../support/until.js'
import { announcedReports } from './announced-reports.js'
import { expectOnce, expectRunning, expectTold } from './expect-told.js'
import type { Told } from './expect-told.js'
import { wordsOf } from './model.js'
import { KINDS, PATIENCE, PAUSE, createPlace, startScene } from './scene.js'
import type { Kind, NewScene, Place, Scene } from './scene.js'

let place: Place

beforeAll(async () => {
  place = await createPlace()
  await place.fixture.startWorker()
})
afterAll(() => place.fixture.close())

interface Ending extends Pick<NewScene, 'task' | 'limits' | 'late'> {
  readonly title: string
  /** Ends a subagent whose model is asked. */
  readonly end: (scene: Scene) => Promise<void> | void
  /** What only its parent's row of it has. @default the words of the task */
  readonly words?: string
  readonly status: string
  /** The subagent closes, whether it would stay or not. */
  readonly closes?: boolean
  readonly file?: boolean
  /** Nobody was there to report: an explicit one is told of as the others. */
  readonly unreported?: boolean
  readonly after?: (scene: Scene, told: Told) => Promise<void>
}

const release = ({ worker }: Scene): void => worker.release()
const continued = { limits: { historyEvents: 0 } } as const
const delivered = { end: release, status: 'completed', file: true } as const
const unreported = { words: 'closed without a report (terminated)', status: 'terminated' } as const
const terminated = { words: '(terminated): it was terminated', status: 'terminated', closes: true } as const

const ENDINGS: readonly Ending[] = [
  // First, for it takes a minute.
  {
    ...unreported,
    ...continued,
    title: 'T7 a kill by an operator after continue-as-new',
    end: killed,
    closes: true,
    unreported: true,
  },
  { ...delivered, title: 'T7 SA-R-08.2a SA-R-10.5 a result' },
  { ...delivered, title: 'T7 SA-R-08.2a a failure', task: 'fail one', status: 'failed' },
  failing('a cap of steps', 'look one', '(max_steps)'),
  failing('a cap of turns', 'talk one', '(max_session_turns)'),
  failing('a model that fails for good', 'break one', '(model_failed)'),
  failing('a hook that blocks its request', 'forbidden one', '(hook_blocked)'),
  failing('a hook that refuses its message', 'refused one', '(hook_blocked)'),
  { ...failing('a variable that it lacks', 'talk one', 'env_required'), late: false },
  {
    ...failing('an interrupt by a client', 'deliver one', '(stopped)'),
    end: async ({ child }) => void (await child.stop()),
  },
  {
    ...terminated,
    title: 'T7 SA-R-10.4 SA-A-07.13b a termination',
    end: ({ child }) => child.terminate({ reason: marked('Enough') }),
  },
  { ...terminated, title: 'T7 SA-R-10.4 a cancellation in Temporal', end: cancelled },
  { ...terminated, ...continued, title: 'T7 a cancellation after continue-as-new', end: cancelled },
  { ...unreported, title: 'T7 a kill by an operator', end: killed, closes: true, unreported: true },
  {
    ...delivered,
    title: 'T7 a reset of the subagent',
    end: async ({ child, worker }) => {
      await resetWorkflow(child.workflow)
      worker.release()
    },
  },
  {
    ...delivered,
    title: 'T7 a result after a reset of the parent',
    end: async ({ parent, worker }) => {
      await resetWorkflow(parent.workflow)
      worker.release()
    },
  },
  {
    ...delivered,
    title: 'T7 a result before a reset of the parent',
    after: async (scene, told) => {
      await resetWorkflow(scene.parent.workflow)
      await scene.parent.waitUntilIdle({ timeout: PATIENCE })
      await expectOnce(scene, told)
    },
  },
  {
    ...delivered,
    title: 'T7 a result before a reset of the subagent',
    after: async (scene, told) => {
      await resetWorkflow(scene.child.workflow)
      await scene.parent.waitUntilIdle({ timeout: PATIENCE, children: true })
      await expectRunning(
        scene.place,
        scene.parent,
        told.closed ? [scene.parent] : [scene.parent, scene.child],
      )
      await expectOnce(scene, told)
    },
  },
  {
    ...delivered,
    ...continued,
    title: 'T7 a result while the parent continues as new',
    end: async ({ parent, worker, id }) => {
      const sent = Array.from({ length: 10 }, () => parent.send(marked(`Are you there? #${id}`)))
      worker.release()
      await Promise.all(sent)
    },
  },
  { ...delivered, title: 'T7 a report that comes twice', after: reportedAgain },
]

const CASES = ENDINGS.flatMap((ending, index) =>
  KINDS.map((kind) => ({ ending, kind, id: `${index}-${kind.name}`, what: ending.title, of: kind.name })),
)

test.concurrent.for(CASES)(
  '$what of $of is learnt once',
  { timeout: 180_000 },
  async ({ ending, kind, id }) => {
    const scene = await startScene(place, { ...ending, id, kind })
    const from = Date.now()
    await ending.end(scene)
    const told = toldOf(ending, kind, id)
    if (ending.unreported === true) await expectSoon(scene, told, from)
    await expectTold(scene, { ...told, ...(ending.after !== undefined && { after: ending.after }) })
  },
)

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await place.fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

/** Nobody reports; the parent finds out by itself. */
async function expectSoon(scene: Scene, told: Told, from: number): Promise<void> {
  await until(
    'the end in the registry',
    async () => (await statusOf(scene)) === told.status,
    PATIENCE * 2,
    PAUSE,
  )
  // At its first look after a minute, and not at its second one.
  expect(Date.now() - from).toBeLessThan(110_000)
}

async function statusOf({ parent }: Scene): Promise<string | undefined> {
  return (await parent.snapshot()).children[0]?.status
}

function failing(what: string, task: string, words: string): Ending {
  return { title: `T7 ${what}`, task, words, status: 'failed', end: release }
}

async function killed({ child }: Scene): Promise<void> {
  await child.workflow.terminate('operator')
}

async function cancelled({ child }: Scene): Promise<void> {
  await child.workflow.cancel()
}

/** What a parent reads instead of words that an explicit one keeps to itself. */
const NOTHING_TO_SAY = 'has nothing to report by itself'

function toldOf(
  { words, status, file, closes, unreported: lost, task }: Ending,
  kind: Kind,
  id: string,
): Told {
  const closed = closes === true || !kind.stays
  if (kind.explicit && lost !== true) return { words: kind.blocking ? NOTHING_TO_SAY : null, status, closed }
  return { words: words ?? wordsOf(id, task ?? 'deliver one'), status, closed, file: file === true }
}

/** The signals of the child's history, once more. */
async function reportedAgain(scene: Scene, told: Told): Promise<void> {
  const { parent, child } = scene
  const { temporal } = scene.place.fixture.threads
  const reports = await until('a report', async () => {
    const announced = await announcedReports(temporal, child.threadId)
    return announced.length > 0 && announced
  })
  expect(reports).toHaveLength(1)
  for (const report of [...reports, ...reports])
    await signalRaw(temporal, {
      threadId: parent.threadId,
      signal: 'childReport',
      input: payload('json/plain', report),
    })
  await parent.waitUntilIdle({ timeout: PATIENCE })
  await expectOnce(scene, told)
}
