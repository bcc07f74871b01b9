import { fork } from 'node:child_process'
import { once } from 'node:events'

import type { StoreOptions } from 'everthread/client'

import type { Order, Word } from './subscriber-process.js'

const HOOKS = new URL('../../test/store/processes/resolve-typescript.ts', import.meta.url).href
const SUBSCRIBER = new URL('./subscriber-process.ts', import.meta.url).pathname

export interface Report {
  /** Milliseconds from the model to the subscriber, of each token at each subscriber. */
  readonly ages: readonly number[]
  /** Milliseconds of processor time since the last report. */
  readonly cpu: number
}

/** A process full of subscribers. */
export interface SubscriberProcess {
  /** Resolves when each has had its first event. */
  watch(threadIds: readonly string[], each: number): Promise<void>
  report(): Promise<Report>
  end(): Promise<void>
}

export async function startSubscriber(store: StoreOptions): Promise<SubscriberProcess> {
  const child = fork(SUBSCRIBER, [JSON.stringify(store)], { execArgv: ['--import', HOOKS] })
  const gone = once(child, 'exit')
  const next = async (): Promise<Word> => {
    const word = await Promise.race([
      new Promise<Word>((resolve) => child.once('message', (said) => resolve(said as Word))),
      gone.then(() => undefined),
    ])
    if (word === undefined) throw new Error('Expected a subscriber, got its end.')
    return word
  }
  const order = async (given: Order): Promise<Word> => {
    const word = next()
    child.send(given)
    return word
  }
  await next()
  return {
    watch: async (threadIds, each) => void (await order({ kind: 'watch', threadIds, each })),
    async report() {
      const word = await order({ kind: 'report' })
      if (word.kind !== 'report') throw new Error(`Expected a report, got "${word.kind}".`)
      return word
    },
    async end() {
      child.kill()
      await gone
    },
  }
}
