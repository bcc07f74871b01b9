import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkerOptions } from '@temporalio/worker'
import { expect, inject } from 'vitest'
import type { Registry } from '../../src/definitions/known-definitions.js'
import type { Store } from '../../src/store/store.js'
import type { StoreOptions } from '../../src/store/store-location.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment, TestEnvironmentOptions } from '../../src/testing/index.js'
import { createDatabase, tablesReadWhole, undecidedCallsIn } from './postgres-database.js'
import { makeBucket } from './s3-bucket.js'

/** An empty store of a test's own. */
export interface TestPlace {
  readonly place: Required<Pick<StoreOptions, 'database' | 'blobs'>>
  /** Where its blobs are on this machine. */
  readonly blobFolder: string
  remove(): Promise<void>
}

/**
 * A place for a store: SQLite and a folder, or PostgreSQL and S3 when EVERTHREAD_TEST_STORE is `postgres`: all tests of
 * activities, clients and workflows run on either.
 */
export async function makePlace(readWhole: readonly string[] = []): Promise<TestPlace> {
  return testStoreKind() === 'postgres' ? postgresPlace(readWhole) : folderPlace()
}

function testStoreKind(): 'sqlite' | 'postgres' {
  const kind = process.env['EVERTHREAD_TEST_STORE'] ?? 'sqlite'
  if (kind === 'sqlite' || kind === 'postgres') return kind
  throw new Error(`Expected EVERTHREAD_TEST_STORE to be "sqlite" or "postgres", got "${kind}"`)
}

/** A test environment whose store is of that kind. `readWhole`: tables of which a command of operators reads all rows. */
export async function testEnvironment<R extends Registry>(
  options: TestEnvironmentOptions<R>,
  readWhole?: readonly string[],
): Promise<TestEnvironment<R>> {
  const { place, remove } = await makePlace(readWhole)
  try {
    const worker = { ...IN_PROCESS, ...sharedBundle(options), ...options.worker }
    const environment = await createTestEnvironment({ ...options, worker, store: place })
    return {
      ...environment,
      async close() {
        const undecided = testStoreKind() === 'sqlite' ? await undecidedCalls(environment.store) : []
        await environment.close().then(remove)
        expect(undecided).toEqual([])
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * Workflow code runs in the thread of the tests, as a replay does: to start a thread for each environment, and to send it every
 * task, takes a third of the processor time. The sandbox is the same; worker processes and the tests of the kit have threads.
 */
const IN_PROCESS = { debugMode: true } as const

/** The bundle of the project, where the test has no workflows of its own: to bundle takes each process seconds. */
function sharedBundle<R extends Registry>({ worker }: TestEnvironmentOptions<R>): Partial<WorkerOptions> {
  return worker?.workflowsPath === undefined
    ? { workflowBundle: { codePath: inject('workflowBundlePath') } }
    : {}
}

/** The calls that have begun and have no decision. A database of PostgreSQL is asked when it is removed. */
async function undecidedCalls(store: Store): Promise<readonly string[]> {
  const calls = await store.read((db) =>
    db
      .selectFrom('tool_calls')
      .select(['thread_id', 'id', 'name'])
      .where('started_at', 'is not', null)
      .where('decision', 'is', null)
      .execute(),
  )
  return calls.map(({ thread_id: threadId, id, name }) => `${threadId} ${id} ${name}`)
}

async function folderPlace(): Promise<TestPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  const blobFolder = join(folder, 'blobs')
  return {
    place: { database: join(folder, 'threads.db'), blobs: blobFolder },
    blobFolder,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** One row, and one row for each version of an agent. */
const SMALL = ['schema_info', 'plans']

async function postgresPlace(readWhole: readonly string[]): Promise<TestPlace> {
  const { url, drop } = await createDatabase()
  const checkAndDrop = async (): Promise<void> => {
    const whole = await tablesReadWhole(url)
    // Behind the look at its statistics: this reads a whole table.
    const undecided = await undecidedCallsIn(url)
    await drop()
    expect(undecided).toEqual([])
    expect(whole.filter((table) => ![...SMALL, ...readWhole].includes(table))).toEqual([])
  }
  if ('problem' in inject('s3Server')) {
    const { place, blobFolder, remove } = await folderPlace()
    return { place: { ...place, database: url }, blobFolder, remove: () => remove().then(checkAndDrop) }
  }
  const bucket = await makeBucket()
  return { place: { database: url, blobs: bucket.url() }, blobFolder: bucket.folder, remove: checkAndDrop }
}
