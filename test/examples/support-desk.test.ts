import { expect, test } from 'vitest'

import { desk } from '../../examples/support-desk/registry.js'
import { assertEvents } from '../../src/testing/index.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()
const chat = voice.model

threeModes({ registry: desk, models: { chat }, isOnOneStore: true }, (modes) => {
  test('an order is looked up, with its invoice as a file', async () => {
    voice.says(
      { toolCalls: [{ name: 'lookup_order', args: { orderId: 'A-17', withInvoice: true } }] },
      { text: 'It is a tent for 180 euros.' },
    )
    const thread = await modes.env.threads.create({ agent: 'support', message: 'What is A-17?' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('It is a tent for 180 euros.')
    const { messages } = await thread.messages()
    const [file] = messages.find(({ role }) => role === 'tool')?.attachments ?? []
    const bytes = await thread.readFile(file?.path ?? '')
    expect(Buffer.from(bytes ?? new ArrayBuffer(0)).toString()).toContain('Invoice A-17')
    expect(chat.requests.at(-1)?.system).toBe(
      'You are the support desk of Acme Outdoor. Be brief. Never invent facts.',
    )
  })

  modes.skippingTime('a refund above 50 euros waits for a person', async () => {
    voice.says(
      { toolCalls: [{ name: 'refund_order', args: { orderId: 'A-17', euros: 180 } }] },
      (request) => ({ text: `Done: ${request.messages.at(-1)?.text}` }),
    )
    const thread = await modes.env.threads.create({ agent: 'support', message: 'Refund A-17, please.' })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    await modes.env.sleep('3 days')
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Done: 180 euros are refunded for A-17.')
    await assertEvents(thread, [
      'action.required',
      'action.resolved',
      'tool.started',
      'tool.result',
      'run.completed',
    ])
  })

  test('the warehouse answers when it has looked', async () => {
    voice.says(
      { toolCalls: [{ name: 'ask_warehouse', args: { question: 'Is there a tent left?' } }] },
      (request) => ({ text: `They say: ${request.messages.at(-1)?.text}` }),
    )
    const thread = await modes.env.threads.create({ agent: 'support', message: 'Any tents left?' })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { result: { status: 'success', result: 'Two.' } })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('They say: Two.')
  })

  test('card numbers never reach the store or the model', async () => {
    voice.says({ text: 'Thank you.' })
    const thread = await modes.env.threads.create({ agent: 'support', message: 'It is 4111111111111111.' })
    await thread.waitUntilIdle()
    const { messages } = await thread.messages()
    expect(messages[0]?.content).toBe('It is [card number].')
    expect(chat.requests.at(-1)?.messages[0]?.text).toBe('It is [card number].')
  })
})
