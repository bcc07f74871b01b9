import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ThreadClient } from 'everthread/client'
import type { ThreadHandle } from 'everthread/client'

import { chooseModel } from './choose-model.ts'
import type { SeenRequest } from './demo-model.ts'
import { startProcess } from './processes.ts'
import type { StartedProcess } from './processes.ts'
import type { desk } from './registry.ts'
import { dim } from './terminal.ts'

/** The processes of a demo: the model, a client, and workers that may die. */
export interface Stage {
  readonly threads: ThreadClient<typeof desk>
  /** The folder in which the tools record their actions. */
  readonly folder: string
  /** Aborted, with the reason, when a process ended by itself. */
  readonly broken: AbortSignal
  readonly scripted: boolean
  startWorker(environment?: NodeJS.ProcessEnv): Promise<StartedProcess>
  /** The requests, counted by the demo model's own process. */
  requests(): Promise<readonly SeenRequest[]>
  /** A server that the demo did not start keeps running: a thread whose store is deleted must not stay open there. */
  leave(thread: ThreadHandle): Promise<void>
  close(): Promise<void>
}

/** Time to kill a worker in the middle of an answer. */
const SLOW_READER = { DEMO_WORD_DELAY: '50' }

export async function openStage({ scripted: forced }: { readonly scripted: boolean }): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'everthread-back-office.'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const store = {
    database: process.env['EVERTHREAD_DATABASE_URL'] ?? join(folder, 'threads.db'),
    blobs: process.env['EVERTHREAD_BLOBS_URL'] ?? join(folder, 'blobs'),
  }
  // A task queue of its own, because other workers on the same server have another store.
  const taskQueue = `everthread-demo-${randomUUID().slice(0, 8)}`
  const broken = new AbortController()
  const onDeath = (error: Error): void => broken.abort(error)
  const scripted = forced || chooseModel(process.env).kind === 'demo'
  const model = scripted
    ? await startProcess('demo-model', { onDeath, environment: forced ? SLOW_READER : {} })
    : undefined
  const environment: NodeJS.ProcessEnv = {
    DEMO_FOLDER: folder,
    EVERTHREAD_TASK_QUEUE: taskQueue,
    EVERTHREAD_DATABASE_URL: store.database,
    EVERTHREAD_BLOBS_URL: store.blobs,
    ...(model && { DEMO_MODEL_URL: model.ready }),
  }
  console.log(dim(`model: ${chooseModel({ ...process.env, ...environment }).why}`))
  const threads = new ThreadClient<typeof desk>({ taskQueue, store })
  const workers = new Set<StartedProcess>()
  return {
    threads,
    folder,
    broken: broken.signal,
    scripted,
    async startWorker(more) {
      const worker = await startProcess('worker', { environment: { ...environment, ...more }, onDeath })
      workers.add(worker)
      console.log(dim(`worker: process ${worker.pid}`))
      return worker
    },
    requests: async () => (await (await fetch(model?.ready ?? '')).json()) as readonly SeenRequest[],
    async leave(thread) {
      if (process.env['EVERTHREAD_UI_URL'] !== undefined) return
      await thread.terminate({ reason: 'the demo is over' })
      await thread.waitUntilIdle({ timeout: '20 seconds' })
    },
    async close() {
      await threads.close()
      await Promise.all([...workers, ...(model ? [model] : [])].map((started) => started.stop()))
    },
  }
}
