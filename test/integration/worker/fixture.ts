import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client'
import { inject } from 'vitest'

import { ThreadClient } from '../../../src/client/index.js'
import { recordedRuns, searchForContent } from '../../support/histories.js'
import type { RecordedRun, Search } from '../../support/histories.js'
import { makePlace } from '../../support/test-store.js'
import type { Effect, integrationDesk } from './desk.js'
import { startModelServer } from './model-server.js'
import type { Answerer, ModelServer } from './model-server.js'
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
  /** Where its blobs are on this machine. */
  readonly blobFolder: string
  /** A thread whose dead worker is noticed soon; its id and its case are one. */
  create(options: NewThread): ReturnType<Threads['create']>
  /** A running worker process; `place`: what is different about it. */
  startWorker(place?: Partial<WorkerPlace>): Promise<WorkerProcess>
  /** A worker process that has loaded everything and takes no task yet. */
  prepareWorker(place?: Partial<WorkerPlace>): Promise<WorkerProcess>
  /** Tools append here what they do. */
  readonly effectsFile: string
  /** What the tools of a thread did. */
  effects(threadId: string): Promise<readonly Effect[]>
  childrenOf(threadId: string): Promise<readonly string[]>
  /** Looks for content in everything that Temporal has of all threads. `passOver`: signals sent inline, by name. */
  search(passOver?: readonly string[]): Promise<Search>
  close(): Promise<void>
}

interface Options extends Partial<
  Pick<
    WorkerPlace,
    | 'namespace'
    | 'graceTime'
    | 'maxCachedWorkflows'
    | 'desk'
    | 'preload'
    | 'mcpUrl'
    | 'mcpRedirectUrl'
    | 'runAhead'
    | 'ownActivities'
  >
> {
  /** What the model says. @default what the integration desk's threads ask for */
  readonly answerer?: Answerer
}

type NewThread = Omit<Parameters<Threads['create']>[0], 'agent' | 'id'> & {
  readonly id: string
  /** @default 'clerk' */
  readonly agent?: Parameters<Threads['create']>[0]['agent']
}

/**
 * The files of a project run at once on one namespace, where a thread's id is its workflow's: the messages of a second
 * thread of the same id would reach the workflow of the first, which reads another store, and get no answer.
 */
async function refuseForeign(client: Client, id: string, taskQueue: string): Promise<void> {
  const running = await client.workflow
    .getHandle(id)
    .describe()
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    })
  if (running !== undefined && running.taskQueue !== taskQueue)
    throw new Error(`Expected an id that no other test file uses, got ${id}: choose another one.`)
}

export async function createFixture({ answerer, ...options }: Options = {}): Promise<Fixture> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-integration-'))
  const { place: storePlace, blobFolder, remove } = await makePlace()
  const model = await startModelServer(answerer)
  const place: WorkerPlace = {
    address: inject('devServerAddress'),
    namespace: 'default',
    taskQueue: `integration-${randomUUID()}`,
    store: { ...storePlace, secretKey: randomBytes(32).toString('base64') },
    modelUrl: model.url,
    effects: join(folder, 'effects.jsonl'),
    codePath: inject('workflowBundlePath'),
    graceTime: 60_000,
    ...options,
  }
  await writeFile(place.effects, '')
  const connection = Connection.lazy({ address: place.address })
  const { taskQueue, store, namespace } = place
  const client = new Client({ connection, namespace })
  const threads: Threads = new ThreadClient({ client, taskQueue, store })
  const workers: Promise<WorkerProcess>[] = []
  const prepareWorker = (own: Partial<WorkerPlace> = {}): Promise<WorkerProcess> => {
    const worker = startWorkerProcess({ ...place, ...own, threadQueue: place.taskQueue })
    workers.push(worker)
    return worker
  }
  return {
    threads,
    model,
    taskQueue,
    store,
    blobFolder,
    effectsFile: place.effects,
    async create(options) {
      if (options.id !== undefined) await refuseForeign(client, options.id, taskQueue)
      return threads.create({ agent: 'clerk', limits: { heartbeatTimeout: HEARTBEAT_TIMEOUT }, ...options })
    },
    prepareWorker,
    async startWorker(own) {
      const worker = await prepareWorker(own)
      await worker.run()
      return worker
    },
    async effects(threadId) {
      const lines = (await readFile(place.effects, 'utf8')).split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as Effect).filter((effect) => effect.threadId === threadId)
    },
    async childrenOf(parent) {
      const children: string[] = []
      for await (const { threadId } of threads.list({ parent })) children.push(threadId)
      return children
    },
    async search(passOver) {
      const runs: RecordedRun[] = []
      for await (const { threadId } of threads.list()) runs.push(...(await recordedRuns(client, threadId)))
      const search = searchForContent(runs, passOver)
      process.stdout.write(`searched ${search.bytes} bytes of ${runs.length} runs\n`)
      return search
    },
    async close() {
      for (const worker of await Promise.allSettled(workers))
        if (worker.status === 'fulfilled') await worker.value.kill()
      await threads.close()
      await connection.close()
      await model.close()
      await remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
