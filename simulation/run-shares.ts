import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Share, ShareResult } from './share.js'

const HOOKS = new URL('./hooks.ts', import.meta.url).href
const WORKER = new URL('./schedule-worker.ts', import.meta.url)

/** Runs one share in a thread of its own. */
export function runShare(
  share: Share,
  onProgress: (done: number) => void = () => undefined,
): Promise<ShareResult> {
  const worker = new Worker(WORKER, { workerData: share, execArgv: ['--import', HOOKS] })
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ShareResult | { readonly kind: 'progress'; readonly done: number }) => {
      if (message.kind === 'result') resolve(message)
      else onProgress(message.done)
    })
    worker.on('error', reject)
  })
}

/** Runs as many shares at a time as the machine has cores. `onProgress`: some more schedules are done. */
export async function runShares(
  shares: readonly Share[],
  onProgress?: (done: number) => void,
): Promise<readonly ShareResult[]> {
  const results: ShareResult[] = []
  const queue = [...shares.entries()]
  const take = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      results[next[0]] = await runShare(next[1], onProgress)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, take))
  return results
}
