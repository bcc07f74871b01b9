import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { shopActivities } from '../../examples/own-worker/activities.js'
import type { ShopActivities } from '../../examples/own-worker/activities.js'
import { complaints } from '../../examples/own-worker/registry.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'

const source = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const chat = scriptedModel([
  { toolCalls: [{ name: 'refund_order', args: { orderId: 'A-17', euros: 80 } }] },
  ({ messages }) => ({ text: `Done: ${messages.at(-1)?.text}` }),
])
const activities: ShopActivities = {
  bookRefund: (orderId, euros) => shopActivities(env.threads).bookRefund(orderId, euros),
  readAnswer: (threadId) => shopActivities(env.threads).readAnswer(threadId),
}

let env: TestEnvironment
beforeAll(async () => {
  env = await createTestEnvironment({
    registry: complaints,
    models: { chat },
    worker: {
      workflowsPath: source('examples/own-worker/workflows.ts'),
      activities,
      // In this repository the package is its source.
      bundlerOptions: {
        webpackConfigHook: (config) => {
          const alias = new Map(Object.entries(config.resolve?.alias ?? {}))
          alias.set('everthread/workflows$', source('src/workflows/index.ts'))
          return { ...config, resolve: { ...config.resolve, alias: Object.fromEntries(alias) } }
        },
      },
    },
  })
})
afterAll(() => env.close())

test('own workflows run in the testing kit beside threads', async () => {
  const answer = await env.threads.temporal.workflow.execute('reviewComplaint', {
    taskQueue: env.taskQueue,
    workflowId: 'review-A-17',
    args: ['A-17'],
  })
  expect(answer).toBe('Done: 80 euros are refunded for A-17.')
  expect(await env.threads.get('complaint-A-17').snapshot()).toMatchObject({ status: 'completed' })
})
