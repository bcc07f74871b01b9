import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'

import { ThreadClient } from '../../../src/client/index.js'
import { workflowBundleOptions } from '../../../src/worker/index.js'
import { recordedRuns, searchForContent } from '../../support/histories.js'
import type { Search } from '../../support/histories.js'
import type { Effect, integrationDesk } from './desk.js'
import { startModelServer } from './model-server.js'
import type { ModelServer } from './model-server.js'
import { startWorkerProcess } from './run-worker.js'
import type { WorkerPlace, WorkerProcess } from './run-worker.js'

type Threads = ThreadClient<ReturnType<typeof integrationDesk>>

/** A worker that died is noticed after this; shorter, a busy machine would be taken for a dead worker. */
const HEARTBEAT_TIMEOUT = 3_000

/** What a file of integration tests has for itself on the shared server: task queue, store, model, worker processes. */
export interface Fixture {
  readonly threads: Threads
  readonly model: ModelServer
  readonly taskQueue: string
  readonly store: WorkerPlace['store']
  /** A thread whose dead worker is noticed soon; its id and its case are one. */
  create(options: NewThread): ReturnType<Threads['create']>
  /** A running worker process. */
  startWorker(): Promise<WorkerProcess>
  /** A worker process that has loaded everything and takes no task yet. */
  prepareWorker(): Promise<WorkerProcess>
  /** What the tools of a thread did. */
  effects(threadId: string): Promise<readonly Effect[]>
  /** Looks for content in everything that Temporal has of all threads. `passOver`: signals sent inline, by name. */
  search(passOver?: readonly string[]): Promise<Search>
  close(): Promise<void>
}

type Options = Partial<Pick<WorkerPlace, 'namespace' | 'graceTime' | 'maxCachedWorkflows'>>

type NewThread = Omit<Parameters<Threads['create']>[0], 'agent' | 'id'> & { readonly id: string }

export async function createFixture(address: string, options: Options = {}): Promise<Fixture> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-integration-'))
  const model = await startModelServer()
  const place: WorkerPlace = {
    address,
    namespace: 'default',
    taskQueue: `integration-${randomUUID()}`,
    store: { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') },
    modelUrl: model.url,
    effects: join(folder, 'effects.jsonl'),
    codePath: join(folder, 'workflows.js'),
    graceTime: 60_000,
    ...options,
  }
  await writeFile(place.effects, '')
  await writeFile(place.codePath, await bundle())
  const connection = Connection.lazy({ address })
  const { taskQueue, store, namespace } = place
  const client = new Client({ connection, namespace })
  const threads: Threads = new ThreadClient({ client, taskQueue, store })
  const workers: WorkerProcess[] = []
  const prepareWorker = async (): Promise<WorkerProcess> => {
    const worker = await startWorkerProcess(place)
    workers.push(worker)
    return worker
  }
  return {
    threads,
    model,
    taskQueue,
    store,
    create: (options) =>
      threads.create({ agent: 'clerk', limits: { heartbeatTimeout: HEARTBEAT_TIMEOUT }, ...options }),
    prepareWorker,
    async startWorker() {
      const worker = await prepareWorker()
      await worker.run()
      return worker
    },
    async effects(threadId) {
      const lines = (await readFile(place.effects, 'utf8')).split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as Effect).filter((effect) => effect.threadId === threadId)
    },
    async search(passOver) {
      const all = await Array.fromAsync(threads.list())
      const runs = await Promise.all(all.map(({ threadId }) => recordedRuns(client, threadId)))
      return searchForContent(runs.flat(), passOver)
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()))
      await threads.close()
      await connection.close()
      await model.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function bundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') })
  return code
}
