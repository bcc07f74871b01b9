import { Client, Connection } from '@temporalio/client'

import { ThreadClient } from '../../../src/client/index.js'

/** Prints each event of a thread as a line of JSON, from a cursor on, until it is killed. */
const [place = '{}', threadId = '', after = '0'] = process.argv.slice(2)
const store = JSON.parse(place) as { readonly database: string }
// Nothing listens there: events come from the store alone.
const connection = Connection.lazy({ address: '127.0.0.1:1' })
const threads = new ThreadClient({ client: new Client({ connection }), store })
for await (const event of threads.get(threadId).events({ after }))
  process.stdout.write(`${JSON.stringify(event)}\n`)
await threads.close()
