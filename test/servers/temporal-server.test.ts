import { afterAll, beforeAll, expect, test } from 'vitest'

import { startLoopingThreads } from '../support/looping-thread.js'
import type { LoopingThreads } from '../support/looping-thread.js'
import { postgresUrl } from '../support/postgres-database.js'
import { startTemporalServer } from '../support/temporal-server.js'
import type { TemporalServer } from '../support/temporal-server.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'

let server: TemporalServer
let threads: LoopingThreads

beforeAll(async () => {
  server = await startTemporalServer({ postgres: await postgresUrl() })
  threads = await startLoopingThreads(server.address)
})
afterAll(async () => {
  await threads.close()
  await server.stop()
})

test('a thread on a Temporal server on PostgreSQL outlives its kill', async () => {
  const thread = await threads.create()
  expect(await threads.turn(thread, { calls: 2, resultLength: 10 })).toMatchObject({ status: 'idle' })
  const killed = server.pid()
  await server.kill()
  await server.start()
  expect(server.pid()).not.toBe(killed)
  expect(await threads.turn(thread, { calls: 2, resultLength: 10 })).toMatchObject({ status: 'idle' })
  expect(await toolResults(thread)).toHaveLength(4)
})

test('its namespace finds threads by our search attributes', async () => {
  const thread = await threads.create()
  await threads.turn(thread, { calls: 1, resultLength: 10 })
  const query = `ThreadAgent = 'worker' and WorkflowId = '${thread.threadId}'`
  await until('the thread in the list', async () => (await threads.client.workflow.count(query)).count === 1)
})
