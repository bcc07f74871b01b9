import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import { ConfigError } from '../../src/protocol/errors.js'
import { openStore } from '../../src/store/open-store.js'
import { putVariable } from '../../src/store/threads/variables.js'
import { createWorker } from '../../src/worker/index.js'
import { emptyRegistry } from '../support/empty-registry.js'
import { freePort } from '../support/free-port.js'
import { startDevServer } from '../support/servers.js'

let folder: string
const address = process.env['TEMPORAL_ADDRESS']

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-worker-'))
  process.env['TEMPORAL_ADDRESS'] = `127.0.0.1:${await freePort()}`
})
afterAll(async () => {
  if (address === undefined) delete process.env['TEMPORAL_ADDRESS']
  else process.env['TEMPORAL_ADDRESS'] = address
  await rm(folder, { recursive: true, force: true })
})

test('a wrong address is one sentence that says what to do', async () => {
  const error = await failureOf({})
  expect(error.message).toBe(
    `Expected a Temporal server at ${process.env['TEMPORAL_ADDRESS']}, got connection refused: ` +
      'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS.',
  )
  // E4: the form in which Node prints an uncaught error.
  expect(inspect(error)).toBe(`Error: ${error.message}`)
})

test('an address that is none is one sentence too', async () => {
  const reachable = process.env['TEMPORAL_ADDRESS']
  process.env['TEMPORAL_ADDRESS'] = 'not an address'
  const error = await failureOf({})
  process.env['TEMPORAL_ADDRESS'] = reachable
  expect(error.message).toMatch(
    /^Expected a Temporal server at not an address, got [^\n]+ TEMPORAL_ADDRESS\.$/,
  )
})

test('a namespace that is not there is one sentence', async () => {
  const server = await startDevServer()
  const unreachable = process.env['TEMPORAL_ADDRESS']
  process.env['TEMPORAL_ADDRESS'] = server.address
  process.env['TEMPORAL_NAMESPACE'] = 'nowhere'
  const error = await failureOf({})
  delete process.env['TEMPORAL_NAMESPACE']
  process.env['TEMPORAL_ADDRESS'] = unreachable
  await server.stop()
  expect(error.message).toBe(
    `Expected a Temporal server with the namespace "nowhere", got ${server.address} without it: ` +
      'create it, or set TEMPORAL_NAMESPACE.',
  )
})

test('a worker and a client of one store have the task queue of that store', async () => {
  const server = await startDevServer()
  const unreachable = process.env['TEMPORAL_ADDRESS']
  process.env['TEMPORAL_ADDRESS'] = server.address
  const [one, other] = ['one', 'other'].map((name) => ({
    database: join(folder, `${name}.db`),
    blobs: join(folder, 'blobs'),
  }))
  const queues: string[] = []
  for (const store of [one ?? {}, other ?? {}]) {
    const worker = await createWorker({ registry: emptyRegistry, store, workflows: false })
    const client = new ThreadClient({ store })
    queues.push(worker.options.taskQueue)
    expect(await client.taskQueue()).toBe(worker.options.taskQueue)
    expect(worker.options.taskQueue).toBe(`everthread-${await client.storeId()}`)
    await client.close()
    const running = worker.run()
    worker.shutdown()
    await running
  }
  process.env['TEMPORAL_ADDRESS'] = unreachable
  await server.stop()
  // Two projects have different task queues.
  expect(new Set(queues).size).toBe(2)
})

test('a worker that runs refuses to run again, and goes on', async () => {
  const server = await startDevServer()
  const unreachable = process.env['TEMPORAL_ADDRESS']
  process.env['TEMPORAL_ADDRESS'] = server.address
  const place = { database: join(folder, 'twice.db'), blobs: join(folder, 'blobs') }
  const worker = await createWorker({ registry: emptyRegistry, store: place, workflows: false })
  process.env['TEMPORAL_ADDRESS'] = unreachable
  const running = worker.run()
  await expect(worker.run()).rejects.toThrow('already started')
  expect(worker.getState()).toBe('RUNNING')
  worker.shutdown()
  await running
  await server.stop()
})

test('a store that cannot be opened is one sentence', async () => {
  const error = await failureOf({ store: { database: '/dev/null/threads.db' } })
  expect(error.message).toMatch(/^Expected [^\n]+$/)
})

test('what is no registry is refused in one sentence', async () => {
  for (const registry of [undefined, {}, [], 'support'])
    expect((await failureOf({ registry } as never)).message).toContain(
      'Expected "registry" to be a result of registry() or loadRegistry(), got ',
    )
})

test('prices that are no numbers are refused before anything starts', async () => {
  const prices = { 'gpt-5': { inputPrice: -1, outputPrice: 2 } }
  expect(await failureOf({ prices })).toMatchObject({
    problems: ["Expected prices['gpt-5'].inputPrice to be US dollars per million tokens, got -1."],
  })
})

test('limits that are no counts are refused before anything starts', async () => {
  expect(await failureOf({ limits: { stepsPerRun: -1 } })).toSatisfy(ConfigError.isInstance)
  expect(await failureOf({ limits: { toolIterations: 0 } })).toSatisfy(ConfigError.isInstance)
  expect(await failureOf({ rateLimits: { tokensPerMinute: 0 } })).toSatisfy(ConfigError.isInstance)
})

test('env that is no variable is refused, and its value not shown', async () => {
  const error = await failureOf({ env: { 'A\nB': 'canary-5', C: 5 as never, UNSET: undefined } })
  expect(error).toSatisfy(ConfigError.isInstance)
  expect(error.message).toMatch(/2 problems[^]+without control characters[^]+"C" to be a text/)
  expect(error.message).not.toContain('canary')
})

test('a store with secrets needs their key', async () => {
  const place = { database: join(folder, 'secret.db'), blobs: join(folder, 'blobs') }
  const store = await openStore({ ...place, secretKey: '1f'.repeat(32) })
  const secret = { threadId: 't', name: 'TOKEN', value: 'canary-6', now: 1 }
  await store.write((tx) => putVariable(tx, store.secrets, secret))
  await store.close()
  const error = await failureOf({ store: { ...place, secretKey: '' } })
  expect(error).toSatisfy(ConfigError.isInstance)
  expect(error.message).toContain('for this store has secrets that it sealed, got no key')
})

test('a deployment that would pin threads is refused', async () => {
  const version = { deploymentName: 'desk', buildId: '1' }
  const error = await failureOf({
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' },
  })
  expect(error).toSatisfy(ConfigError.isInstance)
  expect(error.message).toContain('to be AUTO_UPGRADE, got PINNED')
})

async function failureOf(options: Omit<Parameters<typeof createWorker>[0], 'registry'>): Promise<Error> {
  const store = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') }
  try {
    await createWorker({ registry: emptyRegistry, store, ...options })
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('Expected createWorker to fail.')
}
