/** Another process that follows threads, and measures how old the tokens are that it gets. */
import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'
import type { StoreOptions } from 'everthread/client'

import { agesOf } from './stamp.js'

/** `watch`: so many subscribers for each thread; `report`: what was seen since the last report. */
export type Order =
  | { readonly kind: 'watch'; readonly threadIds: readonly string[]; readonly each: number }
  | { readonly kind: 'report' }

export type Word =
  | { readonly kind: 'ready' }
  | { readonly kind: 'watching' }
  | { readonly kind: 'report'; readonly ages: readonly number[]; readonly cpu: number }

const store = JSON.parse(process.argv[2] ?? '{}') as StoreOptions
// Events come from the store alone.
const connection = Connection.lazy({ address: '127.0.0.1:1' })
const threads = new ThreadClient({ client: new Client({ connection }), store })
let ages: number[] = []
let cpu = process.cpuUsage()

const say = (word: Word): void => void process.send?.(word)

/** Resolves with its first event. */
function watch(threadId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    follow(threadId, resolve).catch(reject)
  })
}

async function follow(threadId: string, begun: () => void): Promise<void> {
  for await (const event of threads.get(threadId).events()) {
    begun()
    if (event.type === 'model.delta') ages.push(...agesOf(event.payload.text))
  }
}

async function take(order: Order): Promise<void> {
  if (order.kind === 'watch') {
    const { threadIds, each } = order
    const all = threadIds.flatMap((threadId) => Array.from({ length: each }, () => watch(threadId)))
    await Promise.all(all)
    say({ kind: 'watching' })
    return
  }
  const { user, system } = process.cpuUsage(cpu)
  say({ kind: 'report', ages, cpu: (user + system) / 1000 })
  ages = []
  cpu = process.cpuUsage()
}

process.on('message', (order: Order) => void take(order))
say({ kind: 'ready' })
