import { expect, test } from 'vitest'

import { newsroom } from '../../examples/newsroom/registry.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'

/** The example of README, "Be tested". */
test('one function speaks for all subagents', async () => {
  const staff = scriptedModel(({ prompt, messages }) => {
    const text = prompt === 'research' ? `About ${messages[0]?.text}: it is wet.` : 'Nothing.'
    return { toolCalls: [{ name: 'deliver', args: { text } }] }
  })
  const chief = scriptedModel([
    { toolCalls: [{ name: 'researcher', args: { items: [{ topic: 'rain' }, { topic: 'snow' }] } }] },
    { text: 'Both are wet.' },
  ])
  const env = await createTestEnvironment({ registry: newsroom, models: { chief, staff }, server: 'dev' })
  try {
    const thread = await env.threads.create({ agent: 'editor', message: 'An article, please.' })
    const run = await thread.waitUntilIdle({ children: true })
    expect(run.reply?.content).toBe('Both are wet.')
    const { children } = await thread.tree()
    expect(children.map(({ agent }) => agent)).toEqual(['archivist', 'researcher', 'researcher'])
    const [, rain] = children
    const { messages } = await env.threads.get(rain?.threadId ?? '').messages()
    expect(messages[0]?.content).toBe('rain')
  } finally {
    await env.close()
  }
})
