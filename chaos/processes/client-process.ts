/**
 * The client process, an application of ours: it carries out the plans of threads, answers requests and subscribes to all events, and writes down what
 * was acknowledged and received, of half of the threads over HTTP. Killed at any moment, the next one goes on behind the last line: an action or answer whose
 * return has no line is done again, under the same id.
 */
import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'

import { carryOut } from './carry-out.js'
import type { ClientOrder, ClientPlace, ClientReport } from './places.js'
import { subscribeToAll } from './subscribe-to-all.js'
import { threadsByWay } from './threads-by-way.js'

const place = JSON.parse(process.argv[2] ?? '') as ClientPlace
const say = (report: ClientReport): void => {
  if (process.connected) process.send?.(report)
}

const connection = Connection.lazy({ address: place.address })
const { taskQueue, store } = place
const client = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
const threads = threadsByWay(client, place.api)
const work = { finish: place.finish }

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'finish') work.finish = true
})
// A driver that died leaves no client behind.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
const subscriptions = subscribeToAll(threads, place)
say({ kind: 'running' })
await carryOut({ threads, place, work, begun: subscriptions.follow })
say({ kind: 'finished' })
