import { afterAll, beforeAll, expect, test } from 'vitest'

import { LIMITS } from '../../../src/protocol/limits.js'
import type { ThreadHandle } from '../../../src/client/index.js'
import { recordedRuns } from '../../support/histories.js'
import { marked } from '../../support/marker.js'
import { toolResults } from '../../support/thread-facts.js'
import { until } from '../../support/until.js'
import { allRows, expectRunning } from './expect-told.js'
import { PATIENCE, PAUSE, createPlace } from './scene.js'
import type { Place } from './scene.js'

let place: Place

beforeAll(async () => {
  place = await createPlace()
  await place.fixture.startWorker()
})
afterAll(() => place.fixture.close())

const timeout = 120_000

test('SA-A-07.13b T8 terminate closes a tree of three levels', { timeout }, async () => {
  const root = await climb('three-levels', 'wait 1')
  const tree = await until('two levels below', () => threadsOf(root, 3), PATIENCE, PAUSE)
  const lowest = tree.at(-1) ?? root
  await until('a run of the lowest', async () => (await lowest.snapshot()).run !== null, PATIENCE, PAUSE)
  await root.terminate({ reason: marked('Enough') })
  await until('a closed root', async () => !(await isOpen(root)), PATIENCE, PAUSE)
  for (const thread of tree) await until('a close', async () => !(await isOpen(thread)), PATIENCE, PAUSE)
  for (const thread of tree)
    expect(await cancellations(thread)).toEqual(
      thread === lowest ? [] : [tree[tree.indexOf(thread) + 1]?.threadId],
    )
  await expectRunning(place, root, [])
  for (const thread of tree) {
    const { status, children, stale } = await thread.snapshot()
    expect({ status, stale }).toEqual({ status: 'terminated', stale: true })
    expect(children.map((child) => child.status)).toEqual(thread === lowest ? [] : ['terminated'])
    expect((await allRows(thread)).filter(({ silent }) => silent)).toEqual([])
  }
})

test('T7 a tree as deep as it may be says so', { timeout }, async () => {
  const root = await climb('deep', 'climb 20')
  await root.waitUntilIdle({ timeout: PATIENCE, children: true })
  expect(await threadsOf(root, LIMITS.childDepth)).toBeDefined()
  await expectRunning(place, root, [root])
  const [result] = await toolResults(root)
  // Each rung hands up what the one below it has said.
  expect(result?.content).toContain('the deepest they may be')
})

function climb(id: string, task: string): Promise<ThreadHandle> {
  const message = marked(`please start ladder: Task: ${task} #${id}`)
  return place.fixture.create({ id, env: { LATE: 'here' }, message })
}

async function isOpen(thread: ThreadHandle): Promise<boolean> {
  return (await thread.workflow.describe()).status.name === 'RUNNING'
}

/** Whom a thread told of its end before it closed. */
async function cancellations({ threadId }: ThreadHandle): Promise<readonly string[]> {
  const runs = await recordedRuns(place.fixture.threads.temporal, threadId)
  return runs.flatMap(({ history }) =>
    (history.events ?? []).flatMap(
      ({ externalWorkflowExecutionCancelRequestedEventAttributes: told }) =>
        told?.workflowExecution?.workflowId ?? [],
    ),
  )
}

/** The root and those below it, the lowest one last. */
async function threadsOf(root: ThreadHandle, wanted: number): Promise<readonly ThreadHandle[] | undefined> {
  const threads = [root]
  for (;;) {
    const [child] = (await (threads.at(-1) ?? root).snapshot()).children
    if (child === undefined) break
    threads.push(place.fixture.threads.get(child.reference))
  }
  return threads.length === wanted ? threads : undefined
}
