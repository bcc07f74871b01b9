/** Temporal, a worker and commands as processes that are killed, and the store that they share. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { inject } from 'vitest'

import { ThreadClient } from '../../../src/client/index.js'
import { prepareStore } from '../../../src/store/open-store.js'
import { freePort } from '../../support/free-port.js'
import { startDevServer } from '../../support/servers.js'
import { makePlace } from '../../support/test-store.js'
import { until } from '../../support/until.js'
import { startWorkerProcess } from '../worker/run-worker.js'
import type { WorkerPlace } from '../worker/run-worker.js'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The arguments of Node that run `everthread` from its sources. */
export const COMMAND = [
  '--import',
  file('../../store/processes/resolve-typescript.ts'),
  file('../../../src/cli/everthread.ts'),
] as const

/** Of an operator. */
export const TOKEN = 'token-of-an-operator'

export type RestartPlace = Awaited<ReturnType<typeof openRestartPlace>>

/** A place whose worker has the agents of the page; nothing runs yet. Several places may be open at once. */
export async function openRestartPlace(taskQueue: string) {
  const { place, blobFolder, remove } = await makePlace()
  const [temporalPort, serverPort] = [await freePort(), await freePort()]
  const secretKey = Buffer.alloc(32, 7).toString('base64')
  const { database, blobs } = place
  const worker: WorkerPlace = {
    ...{ address: `127.0.0.1:${temporalPort}`, namespace: 'default', taskQueue, desk: 'page' },
    store: { database, blobs, secretKey },
    ...{ modelUrl: '', effects: join(blobFolder, '..', 'effects'), graceTime: 0 },
    codePath: inject('workflowBundlePath'),
  }
  const env: Record<string, string> = {
    ...(process.env as Record<string, string>),
    ...{ TEMPORAL_ADDRESS: worker.address, EVERTHREAD_TASK_QUEUE: taskQueue },
    ...{ EVERTHREAD_SECRET_KEY: secretKey, EVERTHREAD_DATABASE_URL: database },
    ...{ EVERTHREAD_BLOBS_URL: blobs, EVERTHREAD_TOKENS: TOKEN },
  }
  await prepareStore({ database, blobs, secretKey })
  const threads = new ThreadClient({ store: worker.store, taskQueue })
  const kills: (() => Promise<void>)[] = []
  const killAll = async (): Promise<void> => {
    for (const kill of kills.splice(0).toReversed()) await kill()
  }
  return {
    env,
    /** Reads the store, without Temporal. */
    threads,
    /** What `killAll` ends, too. */
    onKill: (kill: () => Promise<void>): void => void kills.push(kill),
    /** kill -9 of all that runs. */
    killAll,
    async startTemporal(): Promise<void> {
      const dbFilename = join(blobFolder, '..', `temporal-${temporalPort}.db`)
      const server = await startDevServer({ port: temporalPort, dbFilename })
      kills.push(async () => {
        process.kill(server.pid, 'SIGKILL')
        await server.stop()
      })
    },
    async startWorker(): Promise<void> {
      const started = await startWorkerProcess(worker)
      kills.push(() => started.kill())
      await started.run()
    },
    /** `everthread serve`, at the same address each time; resolves with it. */
    async serve(...options: readonly string[]): Promise<string> {
      const port = String(serverPort)
      const child = spawn(process.execPath, [...COMMAND, 'serve', '--port', port, '--no-page', ...options], {
        env,
      })
      kills.push(killed(child))
      let shown = ''
      child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()))
      child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()))
      return until('its address', () => /serving threads at (\S+)/.exec(shown)?.[1])
    },
    async close(): Promise<void> {
      await killAll()
      await threads.close()
      await remove()
    },
  }
}

function killed(child: ChildProcess): () => Promise<void> {
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
}
