import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { shop } from '../../examples/first-agent/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()
const usage = { prices: { 'gpt-5-mini': { inputPrice: 0.25, outputPrice: 2 } } }

test('the agent of the example has at most fifteen lines', () => {
  const code = readFileSync('examples/first-agent/registry.ts', 'utf8')
  const [, lines = ''] = /^const support = (agent\(\{\n[\s\S]*?^\}\))$/m.exec(code) ?? []
  expect(lines.split('\n').length).toBeGreaterThan(5)
  expect(lines.split('\n').length).toBeLessThanOrEqual(15)
})

threeModes({ registry: shop, models: voice.model, ...usage, isOnOneStore: true }, (modes) => {
  test('it looks up an order, answers in its form, and remembers', async () => {
    const answer = { answer: 'It was sent.', orders: ['A-17'] }
    voice.says(
      { toolCalls: [{ name: 'look_up_order', args: { order: 'A-17' } }] },
      { text: JSON.stringify(answer) },
      { text: JSON.stringify({ answer: 'The tent.', orders: [] }) },
    )
    const thread = await modes.env.threads.create({ agent: 'support', message: 'Where is A-17?' })
    expect((await thread.waitUntilIdle()).output).toEqual(answer)
    await thread.send('What is it?')
    expect((await thread.waitUntilIdle()).output?.answer).toBe('The tent.')
    const said = voice.model.requests.at(-1)?.messages.map(({ text }) => text)
    expect(said).toContain('{"order":"A-17","goods":"a tent","euros":180,"status":"sent"}')
  })

  test('it asks its researcher, whose answer is the result', async () => {
    const answer = { answer: 'With pegs.', orders: [] }
    voice.says(
      { toolCalls: [{ name: 'researcher', args: { message: 'How is a tent pitched?' } }] },
      { text: 'With pegs.' },
      ({ messages }) => ({ text: JSON.stringify({ ...answer, answer: messages.at(-1)?.text }) }),
    )
    const thread = await modes.env.threads.create({ agent: 'support', message: 'How do I pitch it?' })
    expect((await thread.waitUntilIdle({ children: true })).output).toEqual(answer)
  })
})
