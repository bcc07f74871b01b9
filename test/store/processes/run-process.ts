import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { StoreOptions } from '../../../src/store/store-location.js'

const HOOKS = new URL('./resolve-typescript.ts', import.meta.url).href
const STORE_PROCESS = new URL('./store-process.ts', import.meta.url).pathname

export interface StoreProcess {
  /** Waits until it printed that line. @throws when it ends before */
  said(line: string): Promise<void>
  kill(): Promise<void>
  /** Waits for its end. @throws unless it went well */
  ended(): Promise<void>
}

/** Another process on the same store; see `store-process.ts` for the jobs. */
export function runProcess(job: string, place: StoreOptions, ...options: readonly string[]): StoreProcess {
  const given = [job, JSON.stringify(place), ...options]
  const child = spawn(process.execPath, ['--import', HOOKS, STORE_PROCESS, ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const lines: string[] = []
  const errors: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line))
  const failure = () => new Error(`Expected "${job}" to go on, got its end:\n${errors.join('\n')}`)

  return {
    async said(line) {
      while (!lines.includes(line)) {
        if (child.exitCode !== null || child.signalCode !== null) throw failure()
        await Promise.race([once(child.stdout, 'data'), exit])
      }
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
    async ended() {
      await exit
      if (child.exitCode !== 0) throw failure()
    },
  }
}
