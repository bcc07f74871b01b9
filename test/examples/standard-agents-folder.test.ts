import { expect, test } from 'vitest'

import { library } from '../../examples/standard-agents-folder/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

async function listed<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const voice = createVoice()
const chat = voice.model

threeModes({ registry: library, models: { chat }, isOnOneStore: true }, (modes) => {
  test('an agent of a folder answers with its tools and prompts', async () => {
    voice.says(
      { toolCalls: [{ name: 'find_book', args: { word: 'earthsea' } }] },
      { toolCalls: [{ name: 'summarize', args: { text: 'A boy learns magic.' } }] },
      { text: 'Magic is learned.' },
      (request) => ({ text: `In short: ${request.messages.at(-1)?.text}` }),
    )
    const thread = await modes.env.threads.create({ agent: 'librarian', message: '  Earthsea?  ' })
    expect((await thread.waitUntilIdle()).reply?.content).toContain('Magic is learned.')
    const { messages } = await thread.messages()
    expect(messages[0]?.content).toBe('Earthsea?')
    expect(messages.find(({ name }) => name === 'find_book')?.content).toContain('A Wizard of Earthsea')
    expect(chat.requests[0]?.system).toBe('Be brief and friendly. You help readers of a library.')
  })

  test('workers list the agents that they run', async () => {
    const agents = await listed(modes.env.threads.agents())
    expect(agents).toMatchObject([{ name: 'librarian', type: 'ai_human', title: 'Librarian' }])
  })
})
