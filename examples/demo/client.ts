import { ThreadClient } from 'everthread/client'

import type { desk } from './registry.ts'
import { showRun } from './show-run.ts'

const [text, id = `talk-${Date.now()}`] = process.argv.slice(2)
if (text === undefined) {
  console.error('Expected a text: node examples/demo/client.ts "My tent leaks." [THREAD]')
  process.exit(1)
}
const threads = new ThreadClient<typeof desk>()
const thread = await threads.create({ agent: 'support', id })
const { lastSequence } = await thread.snapshot()
await thread.send(text)
await showRun({ threads, thread, after: lastSequence })
console.log(`\nto go on: node examples/demo/client.ts "…" ${id}`)
await threads.close()
