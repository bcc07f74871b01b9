import { randomBytes } from 'node:crypto'

import { ThreadClient } from 'everthread/client'

import { chooseModel } from './choose-model.ts'
import { clientCommand, TEMPORAL_ADDRESS } from './client-command.ts'
import { startProcess } from './processes.ts'
import { heading } from './terminal.ts'

/** The processes of `./temporal-dev.sh up`: a worker, an HTTP server, and the demo model if no real one is set. */
const onDeath = (error: Error): void => {
  console.error(error.message)
  process.exit(1)
}
const choice = chooseModel(process.env)
const model = choice.kind === 'demo' ? await startProcess('demo-model', { onDeath }) : undefined
const environment = model === undefined ? {} : { DEMO_MODEL_URL: model.ready }
await startProcess('worker', { environment, onDeath, loud: true })
const token = randomBytes(16).toString('hex')
const server = await startProcess('server', { environment: { DEMO_TOKEN: token }, onDeath, loud: true })

// Worker and client read it from the store.
const threads = new ThreadClient()
const taskQueue = await threads.taskQueue()
await threads.close()

const temporal = `${process.env['TEMPORAL_CLI_PATH'] ?? 'temporal'} workflow`
const thread = `--address ${TEMPORAL_ADDRESS} --workflow-id hello`
console.log(`model: ${choice.why}`)
heading('Talk to it, from this folder')
console.log(`  ${clientCommand('My tent leaks.')}`)
heading('Or with the Temporal CLI')
console.log(
  `  ${temporal} start  ${thread} --type agentThread --task-queue ${taskQueue} --input '{"agent":"support"}'`,
)
console.log(`  ${temporal} signal ${thread} --name queueMessage --input '{"content":"My tent leaks."}'`)
console.log(`  ${temporal} query  ${thread} --name snapshot`)
heading('Or over HTTP')
console.log(`  ${server.ready}/#token=${token}   document: ${server.ready}/openapi.json`)
console.log(
  `  curl -H 'Authorization: Bearer ${token}' ${server.ready}/threads --json '{"agent":"support","id":"hello","message":"My tent leaks."}'`,
)
