/** A worker and a client of a service that handles a secret carelessly; what it prints is searched too. */
import { writeFileSync } from 'node:fs'

import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'

import { ThreadClient } from '../../../src/client/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import type { ScriptedAnswer } from '../../../src/testing/index.js'
import { createWorker } from '../../../src/worker/index.js'
import { canaryDesk } from './canary-desk.js'

interface Place {
  readonly address: string
  readonly taskQueue: string
  readonly threadId: string
  readonly store: { readonly database: string; readonly blobs: string; readonly secretKey: string }
  readonly codePath: string
  readonly canary: string
  readonly requests: string
}

const place = JSON.parse(process.argv[2] ?? '') as Place
const tools = ['tell', 'throws', 'emits', 'queues', 'schedules', 'keeps', 'hands_over']
/** One careless tool after the other, then nothing but words. */
function* careless(): Generator<ScriptedAnswer, never> {
  for (const name of tools) {
    yield { toolCalls: [{ name, args: {} }] }
    if (name === 'keeps') yield { text: 'In place.' }
  }
  for (;;) yield { text: 'Done.' }
}
const chat = scriptedModel(careless())
const connection = await NativeConnection.connect({ address: place.address })
const { store, taskQueue } = place
const worker = await createWorker({
  registry: canaryDesk(chat),
  store,
  connection,
  taskQueue,
  workflowBundle: { codePath: place.codePath },
})
const threads = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
await worker.runUntil(async () => {
  const first = { agent: 'careless', id: place.threadId, message: 'Be careless.' }
  const thread = await threads.create({ ...first, env: { SPARE: place.canary } })
  // Blocked first: the canary comes as the answer to the request.
  await thread.waitUntilIdle()
  const [missing] = (await thread.snapshot()).pending
  await thread.respond(missing?.id ?? '', { env: { CANARY: place.canary } })
  await thread.waitUntilIdle()
  const [approval] = (await thread.snapshot()).pending
  await thread.respond(approval?.id ?? '', { approved: true })
  await thread.waitUntilIdle()
  await thread.setEnv({ CANARY: place.canary })
  await thread.waitUntilIdle()
})
writeFileSync(place.requests, JSON.stringify(chat.requests))
await threads.close()
await connection.close()
