// A cancellation by the id of a message, without a provider, a key or a server of yours.
import { createTestEnvironment, scriptedModel } from 'everthread/testing'

import { reports } from './registry.ts'

const chat = scriptedModel([
  { toolCalls: [{ name: 'write_report', args: { parts: 1_000 } }] },
  { text: 'A short answer, then.' },
])
const env = await createTestEnvironment({ registry: reports, models: { chat } })

try {
  const thread = await env.threads.create({ agent: 'reporter' })
  const { messageId } = await thread.send('A report of a thousand parts, please.')
  const { messageId: next } = await thread.send({ content: 'Or a short answer.', deliver: 'next_turn' })
  // The stream stays open: the cancellation is a request of its own.
  for await (const event of thread.events()) {
    if (event.type === 'tool.started') {
      const cancelled = await thread.cancel(messageId, { reason: 'It takes too long.' })
      console.log('cancel:', JSON.stringify(cancelled))
    }
    if (event.type === 'run.cancelled') console.log('final:', JSON.stringify(event.payload))
    if (event.type === 'run.completed') break
  }
  // What the tool wrote went with it.
  console.log('report:', await thread.readFile('/report.txt'))
  const again = await thread.cancel(messageId).catch((error: unknown) => error)
  console.log('again:', again instanceof Error ? again.message : again)
  const { reply } = await thread.waitUntilIdle()
  console.log('reply:', reply?.content, JSON.stringify((await thread.message(next))?.end))
} finally {
  await env.close()
}
