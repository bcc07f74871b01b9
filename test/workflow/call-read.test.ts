/** One read of a tool call: what it was, what was decided, what it shows, and what became of it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry, ToolError } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { testEnvironment } from '../support/test-store.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'

let server: TimeSkippingServer
beforeAll(async () => {
  server = await startTimeSkippingServer()
})
afterAll(() => server.stop())

const args = z.object({ order: z.string(), password: z.string().default('word-1') })
const running = createGate()

const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Answers', model: 'chat', prompt: 'Clerk.' },
      ...{ includeChat: true, includePastTools: true, tools: ['draw', 'find', 'drop', 'wait'] },
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    draw: defineTool({
      ...{ description: 'Draws.', args, capabilities: ['orders.draw'], readOnly: true },
      execute: () => ({
        ...{ status: 'success', result: 'drawn' },
        attachments: [{ name: 'plan.png', mimeType: 'image/png', data: new Uint8Array([1]) }],
      }),
    }),
    find: defineTool({
      ...{ description: 'Finds.', args },
      execute: () => {
        throw new ToolError('There is none.', { status: 404 })
      },
    }),
    drop: defineTool({
      ...{ description: 'Drops.', args, capabilities: ['orders.drop'] },
      destructive: { impact: 'The order is gone.', undo: 'Send it again.' },
      execute: () => ({ status: 'success' }),
    }),
    wait: defineTool({
      ...{ description: 'Waits.', args },
      async execute(state, _args, call) {
        call.progress({ progress: 1, total: 3, message: 'packing' })
        call.output('first box\n')
        running.open()
        await new Promise((_, reject) => {
          state.execution?.abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
        })
      },
    }),
  },
})

test('AR-S3.1 AR-TC.2 a call is read whole: succeeded, failed, denied, running and cancelled', async () => {
  const names = ['draw', 'find', 'drop', 'wait']
  const chat = scriptedModel([
    { toolCalls: names.map((name) => ({ name, args: { order: 'A-17' } })) },
    { text: 'Done.' },
  ])
  const environment = await testEnvironment({ registry: desk, models: { chat }, server: server.environment })
  try {
    const thread = await environment.threads.create({
      ...{ id: 'call-read', agent: 'clerk', message: 'Go.' },
      permissions: { 'orders.drop': 'deny' },
    })
    const read = async (n: number) => {
      const call = await thread.toolCall(`call_1_1_${n}`)
      if (call === null) throw new Error('Expected a call')
      return call
    }
    await running.passed
    await until('its report', async () => (await read(3)).live?.output === 'first box\n')
    const [drawn, found, dropped, waiting] = [await read(0), await read(1), await read(2), await read(3)]

    expect(drawn).toMatchObject({
      ...{ status: 'succeeded', errorCode: null, failure: null, live: null },
      result: { content: 'drawn', attachments: [{ name: 'plan.png' }] },
      decision: {
        ...{
          decision: 'allowed',
          messageId: expect.any(String) as string,
          runId: expect.any(String) as string,
        },
        action: {
          ...{ kind: 'tool', arguments: { order: 'A-17', password: '[redacted]' } },
          ...{ capabilities: ['orders.draw'], readOnly: true, destructive: false, runtimeOwner: 'local' },
          artifacts: [{ kind: 'result', name: 'plan.png', mediaType: 'image/png' }],
        },
        permission: { mode: 'default' },
        sandbox: { state: 'unavailable', reason: 'worker_process' },
      },
    })
    expect(found).toMatchObject({
      ...{ status: 'failed', decision: { decision: 'allowed', outcome: 'failed' } },
      failure: {
        category: 'not_found',
        isRetryable: false,
        status: 404,
        attempts: 1,
        advice: expect.any(String) as string,
      },
    })
    expect(dropped).toMatchObject({
      ...{ status: 'denied', startedAt: null },
      decision: {
        ...{ decision: 'denied', source: 'thread', rules: ['thread:orders.drop'] },
        action: { destructive: { impact: 'The order is gone.', undo: 'Send it again.' } },
      },
    })
    expect(waiting).toMatchObject({
      ...{ status: 'open', result: null, finishedAt: null, decision: { decision: 'allowed', outcome: null } },
      live: { progress: { progress: 1, total: 3, message: 'packing' }, output: 'first box\n' },
    })
    await thread.terminate()
    await until('the end', async () => (await read(3)).status !== 'open')
    expect(await read(3)).toMatchObject({
      ...{
        status: 'cancelled',
        live: null,
        failure: { category: 'cancelled' },
        decision: { outcome: 'cancelled' },
      },
    })
    expect(await thread.toolCall('none')).toBeNull()
  } finally {
    await environment.close()
  }
})
