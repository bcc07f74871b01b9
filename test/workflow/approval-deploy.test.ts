import { randomUUID } from 'node:crypto'

import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import { makePlace } from '../support/test-store.js'
import type { TestPlace } from '../support/test-store.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../support/time-skipping-server.js'
import { unscripted } from '../support/unscripted.js'

const DAYS = 30

/** One version of the code of a desk: another prompt, and another check. */
function version(number: number, execute: () => void) {
  return registry({
    models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
    prompts: [
      definePrompt({
        toolDescription: 'Works',
        name: 'clerk',
        model: 'voice',
        prompt: `You are version ${number}.`,
        tools: ['refund'],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools: {
      refund: defineTool({
        description: `Pays money back, version ${number}`,
        args: z.object({ euros: z.number() }),
        needsApproval: number === 1,
        execute: async () => {
          execute()
          return { status: 'success', result: `Paid by version ${number}` }
        },
      }),
    },
  })
}

let server: TimeSkippingServer
let place: TestPlace
beforeEach(async () => {
  server = await startTimeSkippingServer()
  place = await makePlace()
})
afterEach(async () => {
  await server.stop()
  await place.remove()
})

test(`what was approved after ${DAYS} skipped days and a deploy is executed once`, async () => {
  const ran: number[] = []
  const taskQueue = `deploy-${randomUUID()}`
  const voice = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 5 } }] }, { text: 'Done' }])
  const deploy = (number: number) =>
    createTestEnvironment({
      ...{ registry: version(number, () => void ran.push(number)), models: { voice } },
      ...{ server: server.environment, store: place.place, worker: { taskQueue } },
    })
  const before = await deploy(1)
  const { threadId } = await before.threads.create({ agent: 'clerk', message: 'Refund 5 euros.' })
  const asked = await before.threads.get(threadId).waitUntilIdle()
  expect(asked.status).toBe('waiting_permission')
  const start = await server.environment.currentTimeMs()
  await before.sleep(`${DAYS} days`)
  expect((await server.environment.currentTimeMs()) - start).toBeGreaterThanOrEqual(DAYS * 86_400_000)
  await before.close()
  expect(ran).toEqual([])

  const after = await deploy(2)
  const thread = after.threads.get(threadId)
  const [request] = (await thread.snapshot()).pending
  await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
  await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
  await after.restartWorker()
  await thread.send('And now?')
  await thread.waitUntilIdle()
  expect(ran).toEqual([2])
  expect(await thread.decisions()).toMatchObject([
    { decision: 'allowed', source: 'person', by: 'ben', outcome: 'succeeded', requestId: request?.id },
  ])
  await after.close()
})
