import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

import type { StoreOptions, ThreadEvent } from '../../../src/client/index.js'

const HOOKS = new URL('../../store/processes/resolve-typescript.ts', import.meta.url).href
const SUBSCRIBER = new URL('./subscriber-process.ts', import.meta.url).pathname

/** Another process that follows a thread. */
export interface Subscriber {
  /** The next event that it printed. @throws what it said, when it ends before */
  next(): Promise<ThreadEvent>
  /** kill -9, now. */
  kill(): Promise<void>
}

export function runSubscriber(store: StoreOptions, threadId: string, after = '0'): Subscriber {
  const options = [JSON.stringify(store), threadId, after]
  const child = spawn(process.execPath, ['--import', HOOKS, SUBSCRIBER, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const errors: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await lines.next()
      if (done === true)
        throw new Error(`Expected an event, got the end of the process:\n${errors.join('\n')}`)
      return JSON.parse(value) as ThreadEvent
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
