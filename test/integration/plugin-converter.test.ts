import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { complaints } from '../../examples/own-worker/registry.js'
import { EverthreadPlugin } from '../../src/worker/index.js'
import { payload, signalRaw } from '../support/raw-messages.js'
import { factTypes, transcriptIfKnown } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { openShop } from './plugin/shop.js'
import type { Shop } from './plugin/shop.js'

const file = (name: string): string => fileURLToPath(new URL(`plugin/${name}`, import.meta.url))

/** Made ahead of time, with workflows and a payload converter of a user. */
let shop: Shop
beforeAll(async () => {
  const payloadConverterPath = file('big-converter.ts')
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: file('big-workflows.ts'),
    payloadConverterPath,
    plugins: [new EverthreadPlugin({ registry: complaints })],
    logger: new DefaultLogger('WARN'),
  })
  shop = await openShop({ dataConverter: { payloadConverterPath }, worker: { workflowBundle } })
})
afterAll(() => shop.close())

test("a user's payload converter works in a bundle with threads", async () => {
  const [taskQueue, workflowId] = [shop.taskQueue, randomUUID()]
  const doubled = shop.client.workflow.execute('double', { taskQueue, workflowId, args: [2n ** 70n] })
  expect(await doubled).toBe(2n ** 71n)
})

test('T10 broken JSON wedges no thread of a prebundled worker', async () => {
  shop.voice.says({ text: 'Still here.' })
  const thread = await shop.threads.create({ agent: 'complaints', id: randomUUID() })
  for (const broken of [payload('json/plain', '{'), payload('text/bigint', 'many'), payload(null, '')])
    await signalRaw(shop.client, { threadId: thread.threadId, signal: 'queueMessage', input: broken })
  await thread.send('Are you there?')
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Still here.')
  const types = await factTypes(thread)
  expect(types.filter((type) => type === 'runtime.warning')).toHaveLength(3)
})

test("a user's workflow signals the thread that it started", async () => {
  shop.voice.says({ text: 'One.' }, { text: 'Two.' })
  const [taskQueue, workflowId, threadId] = [shop.taskQueue, randomUUID(), randomUUID()]
  await shop.client.workflow.execute('talk', { taskQueue, workflowId, args: [threadId] })
  const thread = shop.threads.get(threadId)
  const told = async () => {
    const rows = await transcriptIfKnown(thread)
    return rows.filter(({ role }) => role === 'user').map(({ content }) => content)
  }
  // Between the two the thread may be idle: only it knows of a signal that no client wrote into the store. Its first
  // activity writes its row.
  await until('both messages', async () => (await told()).length === 2)
  expect(await told()).toEqual(['First', 'Second'])
})

test('a folder of CommonJS keeps its workflow for all names', async () => {
  const common = await openShop({ worker: { workflowsPath: file('common-js') } })
  try {
    const run = (name: string): Promise<unknown> =>
      common.client.workflow.execute(name, { taskQueue: common.taskQueue, workflowId: randomUUID() })
    expect(await Promise.all([run('named'), run('other')])).toEqual(['named', 'any, as other'])
    common.voice.says({ text: 'Beside them.' })
    const thread = await common.threads.create({ agent: 'complaints', id: randomUUID(), message: 'Hello' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Beside them.')
  } finally {
    await common.close()
  }
})
