import { expect, test } from 'vitest'

import { hotel } from '../../examples/handoff/registry.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedReply } from '../../src/testing/index.js'
import { threeModes } from '../support/three-modes.js'

let replies: ScriptedReply[] = []
const chat = scriptedModel(() => replies.shift() ?? { text: 'That is all.' })

threeModes({ registry: hotel, models: { chat } }, (modes) => {
  test('a guest is handed over to billing, and stays there', async () => {
    replies = [
      { toolCalls: [{ name: 'billing', args: { summary: 'The bill of room 7 is too high.' } }] },
      { toolCalls: [{ name: 'find_bill', args: { room: '7' } }] },
      { text: 'It is for two nights.' },
      { text: 'You are welcome.' },
    ]
    const thread = await modes.env.threads.create({ agent: 'reception', message: 'My bill is too high.' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('It is for two nights.')
    expect((await thread.snapshot()).agent).toBe('billing')
    await thread.send('Thank you.')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('You are welcome.')
    expect(chat.requests.at(-1)?.system).toContain('You explain bills.')
    expect(chat.requests.at(-1)?.messages[0]?.text).toBe('My bill is too high.')
  })
})
