import { expect, test } from 'vitest'

import { hotel } from '../../examples/handoff/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()
const chat = voice.model

threeModes({ registry: hotel, models: { chat }, isOnOneStore: true }, (modes) => {
  test('a guest is handed over to billing, and stays there', async () => {
    voice.says(
      { toolCalls: [{ name: 'billing', args: { summary: 'The bill of room 7 is too high.' } }] },
      { toolCalls: [{ name: 'find_bill', args: { room: '7' } }] },
      { text: 'It is for two nights.' },
      { text: 'You are welcome.' },
    )
    const thread = await modes.env.threads.create({ agent: 'reception', message: 'My bill is too high.' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('It is for two nights.')
    expect((await thread.snapshot()).agent).toBe('billing')
    await thread.send('Thank you.')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('You are welcome.')
    expect(chat.requests.at(-1)?.system).toContain('You explain bills.')
    expect(chat.requests.at(-1)?.messages[0]?.text).toBe('My bill is too high.')
  })
})
