import { randomUUID } from 'node:crypto'
import { ThreadClient } from '../../../src/client/index.js'
import { createTestEnvironment } from '../../../src/testing/index.js'
import type { TestEnvironment } from '../../../src/testing/index.js'
import { startTestServer } from '../../../src/testing/test-server.js'
import type { TestServerKind } from '../../../src/testing/test-server.js'
import { threadBundle } from '../../../src/testing/thread-bundle.js'
import { createWorker } from '../../../src/worker/index.js'
import { createFamilyScripts } from '../../support/family-scripts.js'
import { kindsDesk } from '../../support/kinds-desk.js'
import { makePlace } from '../../support/test-store.js'
import { createThreadScripts } from '../../support/thread-scripts.js'
import { workflowDesk } from '../../support/workflow-desk.js'
import { apartActivities, apartDesk, MODELS_QUEUE, threadsApart, TOOLS_QUEUE } from './apart.js'
import { deskThreads } from './desk-threads.js'
import { families } from './families.js'
import { waitingApart, waitingFamilies, waitingThreads } from './long-waits.js'
import type { ApartPlace } from './long-waits.js'
import { recordedDesk, scriptedModels } from './recorded-desk.js'
import type { Scenarios } from './scenario.js'
import { singleThreads } from './single-threads.js'

/** Behaviours that share a registry and a server, which it starts. */
export interface ScenarioGroup {
  readonly name: string
  /** One after another on the server that skips time: they would skip each other's. */
  readonly concurrent: boolean
  start(): Promise<{
    readonly env: Pick<TestEnvironment, 'threads'>
    readonly scenarios: Scenarios
    close(): Promise<void>
  }>
}

const limits = { stepsPerRun: 5, repeatedToolErrors: 3 }

/** All behaviours that are kept. */
export const scenarioGroups: readonly ScenarioGroup[] = [
  group('desk', true, async () => {
    const env = await createTestEnvironment({
      ...{ registry: recordedDesk, models: scriptedModels, server: 'dev' },
    })
    return [env, deskThreads(env)]
  }),
  group('single threads', true, async () => {
    const { models, tools, script } = createThreadScripts()
    const env = await createTestEnvironment({
      ...{ registry: workflowDesk, models, tools, limits, server: 'dev' },
    })
    return [env, singleThreads({ env, script })]
  }),
  group('families', true, async () => {
    const scripts = createFamilyScripts(kindsDesk)
    const { models, tools } = scripts
    const env = await createTestEnvironment({ registry: kindsDesk, models, tools, server: 'dev' })
    return [env, families({ env, scripts })]
  }),
  {
    name: 'apart',
    concurrent: true,
    start: () =>
      startApart({
        kind: 'dev',
        queues: [MODELS_QUEUE, TOOLS_QUEUE],
        scenarios: ({ threads }) => threadsApart(threads),
      }),
  },
  group('waiting threads', false, async () => {
    const { models, tools, script } = createThreadScripts()
    const env = await createTestEnvironment({ registry: workflowDesk, models, tools })
    return [env, waitingThreads({ env, script })]
  }),
  group('waiting families', false, async () => {
    const scripts = createFamilyScripts(kindsDesk)
    const { models, tools } = scripts
    const env = await createTestEnvironment({ registry: kindsDesk, models, tools })
    return [env, waitingFamilies({ env, scripts })]
  }),
  {
    name: 'waiting apart',
    concurrent: false,
    start: () => startApart({ kind: 'time-skipping', queues: [], scenarios: waitingApart }),
  },
]

function group<Env extends TestEnvironment>(
  name: string,
  concurrent: boolean,
  begin: () => Promise<readonly [Env, Scenarios]>,
): ScenarioGroup {
  return {
    name,
    concurrent,
    async start() {
      const [env, scenarios] = await begin()
      return { env: env as unknown as TestEnvironment, scenarios, close: () => env.close() }
    },
  }
}

interface Apart {
  readonly kind: TestServerKind
  /** Beside that of the threads. */
  readonly queues: readonly string[]
  readonly scenarios: (place: ApartPlace) => Scenarios
}

/** A worker for each of the task queues; that of a test environment serves all as one. */
async function startApart({ kind, queues, scenarios }: Apart): ReturnType<ScenarioGroup['start']> {
  const { place: store, remove } = await makePlace()
  const server = await startTestServer(kind)
  const taskQueue = `recorded-threads-${randomUUID()}`
  const threads = new ThreadClient<typeof apartDesk>({ client: server.client, taskQueue, store })
  const shared = { registry: apartDesk, store, connection: server.nativeConnection }
  const workers = await Promise.all([
    createWorker({ ...shared, taskQueue, workflowBundle: await threadBundle() }),
    ...queues.map((queue) =>
      createWorker({
        ...{ ...shared, taskQueue: queue, workflows: false },
        activities: apartActivities(threads),
      }),
    ),
  ])
  const running = Promise.all(workers.map((worker) => worker.run()))
  return {
    env: { threads: threads as unknown as TestEnvironment['threads'] },
    scenarios: scenarios({ threads, sleep: (duration) => server.sleep(duration) }),
    async close() {
      for (const worker of workers) worker.shutdown()
      await running
      await threads.close()
      await server.teardown()
      await remove()
    },
  }
}
