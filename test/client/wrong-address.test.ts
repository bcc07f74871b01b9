import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectLazily, translate } from '../../src/client/connection.js'
import { TemporalUnavailableError } from '../../src/protocol/errors.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { freePort } from '../support/free-port.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

let address: string
let fixture: ClientFixture

beforeEach(async () => {
  address = `127.0.0.1:${await freePort()}`
  fixture = await createClientFixture(address)
  await fixture.store.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await fixture.close()
})

test('a send says in one sentence which address is wrong', async () => {
  const error: unknown = await fixture.threads
    .get('t')
    .send({ id: 'm', content: 'Hello' })
    .catch((caught: unknown) => caught)
  if (!TemporalUnavailableError.isInstance(error)) throw error
  expect(error).toMatchObject({ code: 'temporal_unavailable', threadId: 't', address, messageId: 'm' })
  expect(error.message).toBe(
    `Expected a Temporal server at ${address}, got no answer in time: start one with "temporal server start-dev", ` +
      'or set TEMPORAL_ADDRESS. The message is kept: send it again with id "m".',
  )
  // E4: as Node prints it where nobody catches it.
  expect(inspect(error)).toBe(`TemporalUnavailableError: ${error.message}`)
  // What was accepted by the store is kept: the same send goes on from there.
  const { messages } = await fixture.threads.get('t').messages()
  expect(messages).toMatchObject([{ id: 'm', status: 'pending' }])
})

test('a client by the environment ends before its deadline with what the connection met', async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', address)
  const client = connectLazily()
  const { connection } = client
  const deadline = Date.now() + 20_000
  const ask = () => connection.workflowService.getSystemInfo({})
  const error: unknown = await connection.withDeadline(deadline, ask).catch((caught: unknown) => caught)
  expect(Date.now()).toBeLessThan(deadline)
  expect(translate(error, { client, threadId: 't' })).toMatchObject({
    message:
      `Expected a Temporal server at ${address}, got no connection (connect ECONNREFUSED ${address}): ` +
      'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS.',
  })
  await connection.close()
})

test('a snapshot is the recorded one', async () => {
  expect(await fixture.threads.get('t').snapshot()).toMatchObject({ status: 'idle', stale: true })
})

test('waiting says that the server is not there', async () => {
  const wait = fixture.threads.get('t').waitUntilIdle({ timeout: 2_000 })
  await expect(wait).rejects.toMatchObject({ code: 'timeout', message: expect.stringContaining(address) })
})

test('a wait time that is none is refused', async () => {
  const wait = fixture.threads.get('t').waitUntilIdle({ timeout: 'soon' as '1 s' })
  await expect(wait).rejects.toMatchObject({ name: 'ConfigError' })
})

test('closing waits for calls, so that no retry outlives it', async () => {
  const { temporal } = fixture.threads
  const asked = new Promise<void>((resolve) => {
    const withDeadline = temporal.withDeadline.bind(temporal)
    temporal.withDeadline = (deadline, call) => {
      resolve()
      return withDeadline(deadline, call)
    }
  })
  const snapshot = expect(fixture.threads.get('t').snapshot()).rejects.toMatchObject({ code: 'closed' })
  await asked
  await fixture.threads.close()
  await temporal.connection.close()
  await snapshot
})
