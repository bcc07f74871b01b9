import { expect, test, vi } from 'vitest'

import { assertEvents, createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestServerKind } from '../../src/testing/index.js'
import { build, desk } from '../support/loose-registry.js'
import { marked } from '../support/marker.js'
import { workflowDesk } from '../support/workflow-desk.js'

const silent = scriptedModel([])
/** Of those that these tests never ask. */
const unasked = { review: silent, narrow: silent, backed: silent }
const call = { name: 'work', args: { task: marked('count') } }

test.each<TestServerKind>(['time-skipping', 'dev'])(
  'AR-W.5 a thread runs on the %s server, through a restart',
  async (server) => {
    const chat = scriptedModel([{ toolCalls: [call] }, { text: marked('Done') }, { text: marked('Again') }])
    const env = await createTestEnvironment({
      registry: workflowDesk,
      models: { chat, ...unasked },
      tools: { work: ({ task }) => ({ status: 'success', result: task }) },
      server,
    })
    try {
      const thread = await env.threads.create({ agent: 'clerk', message: marked('Hello') })
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done'))
      expect(chat.requests[1]?.messages.at(-1)?.text).toBe(marked('count'))
      await assertEvents(thread, ['run.started', 'tool.result', 'run.completed'])
      await env.restartWorker()
      await thread.send(marked('More'))
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Again'))
      expect(chat.remaining).toBe(0)
    } finally {
      await env.close()
    }
  },
  60_000,
)

test('days are skipped and not slept', async () => {
  const chat = scriptedModel(() => ({ text: marked('Here') }))
  const env = await createTestEnvironment({ registry: workflowDesk, models: { chat, ...unasked } })
  try {
    const thread = await env.threads.create({ agent: 'clerk', message: marked('Hello') })
    await thread.waitUntilIdle()
    const started = Date.now()
    await env.sleep('3 days')
    expect(Date.now() - started).toBeLessThan(10_000)
    await thread.send(marked('Still there?'))
    await thread.waitUntilIdle()
    const { messages } = await thread.messages()
    const [first, last] = [messages.at(0), messages.at(-1)]
    expect((last?.created_at ?? 0) - (first?.created_at ?? 0)).toBeGreaterThan(2.9 * 86_400_000_000)
  } finally {
    await env.close()
  }
})

test('what a registry warns of is said as by a worker', async () => {
  const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const registry = build({ prompts: [{ ...desk, prompt: [{ type: 'env', property: 'COMPANY' }] }] })
  const env = await createTestEnvironment({ registry, models: { chat: silent } })
  try {
    expect(shown.mock.calls.join('\n')).toContain("has the variable 'COMPANY' in its text")
  } finally {
    shown.mockRestore()
    await env.close()
  }
})

test('models that are not scripted are named before anything starts', async () => {
  const models = { chat: scriptedModel([]) } as never
  await expect(createTestEnvironment({ registry: workflowDesk, models })).rejects.toThrow(
    'Expected a scripted model for "review"',
  )
})
