/** A service that only talks to threads: it has no definitions, and no native code. Prints what it found as JSON. */
import { Client, Connection } from '@temporalio/client'

import { ThreadClient } from '../../../src/client/index.js'
import type { StoreOptions } from '../../../src/client/index.js'

interface Place {
  readonly address: string
  readonly taskQueue: string
  readonly store: StoreOptions
}

const { address, taskQueue, store } = JSON.parse(process.argv[2] ?? '{}') as Place
const connection = Connection.lazy({ address })
const threads = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
const thread = await threads.create({ agent: 'clerk', id: 'from-a-client', message: 'Hello' })
await thread.send({
  content: 'More',
  attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: Buffer.from('x') }],
})
const run = await thread.waitUntilIdle({ timeout: '100 s' })
const types: string[] = []
for await (const { type } of thread.events({ follow: false })) types.push(type)
const { messages } = await thread.messages()
const { status, stale } = await thread.snapshot()
await thread.stop()
await thread.terminate()
await threads.close()
await connection.close()
process.stdout.write(
  JSON.stringify({ reply: run.reply?.content, rows: messages.length, status, stale, events: types.length }),
)
