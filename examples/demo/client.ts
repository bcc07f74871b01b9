import { ThreadClient } from 'everthread/client'

import { clientCommand } from './client-command.ts'
import type { desk } from './registry.ts'
import { showRun } from './show-run.ts'
import { deadline } from './within.ts'

process.on('uncaughtException', (error) => {
  console.error(error.message)
  process.exit(1)
})
const [text, id = `talk-${Date.now()}`] = process.argv.slice(2)
if (text === undefined) {
  console.error('Expected what to say: client.ts "My tent leaks." [THREAD]')
  process.exit(1)
}
const threads = new ThreadClient<typeof desk>()
const thread = await threads.create({ agent: 'support', id })
const { lastSequence: after, agent: name } = await thread.snapshot()
await thread.send(text)
await showRun({ threads, thread, after, name, signal: deadline(300, 'an answer') })
console.log(`\nto go on in this thread: ${clientCommand('…', id)}`)
await threads.close()
