import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Client, Connection } from '@temporalio/client'
import type { DataConverter } from '@temporalio/common'
import { NativeConnection, Worker } from '@temporalio/worker'
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker'
import { inject } from 'vitest'

import { shopActivities } from '../../../examples/own-worker/activities.js'
import { complaints } from '../../../examples/own-worker/registry.js'
import { ThreadClient } from '../../../src/client/index.js'
import { scriptedRegistry } from '../../../src/testing/scripted-registry.js'
import { EverthreadPlugin } from '../../../src/worker/index.js'
import { createVoice } from '../../support/voice.js'
import type { Voice } from '../../support/voice.js'

const source = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** The shop's workflows, which name the package as a user does. */
const SHOP_WORKFLOWS = source('examples/own-worker/workflows.ts')

/** In this repository the package is its source. */
const webpackConfigHook: NonNullable<BundleOptions['webpackConfigHook']> = (config) => {
  const alias = new Map(Object.entries(config.resolve?.alias ?? {}))
  alias.set('everthread/workflows$', source('src/workflows/index.ts'))
  return { ...config, resolve: { ...config.resolve, alias: Object.fromEntries(alias) } }
}

/** As the shop checks an upgrade. */
export const replayOptions: ReplayWorkerOptions = {
  workflowsPath: SHOP_WORKFLOWS,
  bundlerOptions: { webpackConfigHook },
  plugins: [new EverthreadPlugin({ registry: complaints })],
}

/** A team that runs Temporal already, with one line more. */
export interface Shop {
  readonly client: Client
  readonly threads: ThreadClient
  readonly taskQueue: string
  readonly voice: Voice
  close(): Promise<void>
}

interface ShopOptions {
  readonly dataConverter?: DataConverter
  /** Over the shop's own options. */
  readonly worker?: Partial<WorkerOptions>
}

export async function openShop({ dataConverter, worker: given }: ShopOptions = {}): Promise<Shop> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-shop-'))
  const store = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') }
  const address = inject('devServerAddress')
  const taskQueue = `shop-${randomUUID()}`
  const connection = Connection.lazy({ address })
  const converter = dataConverter !== undefined && { dataConverter }
  const client = new Client({ connection, ...converter })
  const threads = new ThreadClient({ client, taskQueue, store })
  const voice = createVoice()
  const registry = scriptedRegistry(complaints, { models: { chat: voice.model } })
  const native = await NativeConnection.connect({ address })
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    ...(given?.workflowBundle === undefined && { workflowsPath: SHOP_WORKFLOWS }),
    bundlerOptions: { webpackConfigHook },
    activities: shopActivities(threads),
    ...converter,
    plugins: [new EverthreadPlugin({ registry, store })],
    ...given,
  })
  const ended = worker.run()
  return {
    client,
    threads,
    taskQueue,
    voice,
    async close() {
      worker.shutdown()
      await ended
      await threads.close()
      await connection.close()
      await native.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
