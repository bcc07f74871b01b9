import { expect, test } from 'vitest'

import { office } from '../../examples/effects-and-variables/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()
const chat = voice.model
const env = { OWNER: 'Ann', MAIL_KEY: 'key-of-the-mail-service' }

threeModes({ registry: office, models: { chat }, isOnOneStore: true }, (modes) => {
  modes.skippingTime('a reminder comes days later, once, although it was replaced', async () => {
    const remind = (minutes: number) => ({ name: 'remind_me', args: { about: 'the plants', minutes } })
    voice.says(
      { toolCalls: [remind(60)] },
      { toolCalls: [remind(2 * 24 * 60)] },
      { text: 'It is set.' },
      { text: 'Water the plants, Ann.' },
    )
    const thread = await modes.env.threads.create({ agent: 'assistant', env, message: 'Remind me.' })
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).effects).toHaveLength(1)
    await modes.env.sleep('1 day')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('It is set.')
    await modes.env.sleep('2 days')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Water the plants, Ann.')
  })

  modes.skippingTime('a reminder can be listed and forgotten', async () => {
    voice.says(
      { toolCalls: [{ name: 'remind_me', args: { about: 'the cat', minutes: 10 } }] },
      { toolCalls: [{ name: 'list_reminders', args: {} }] },
      (request) => {
        const [entry] = JSON.parse(request.messages.at(-1)?.text ?? '[]') as { id: string }[]
        return { toolCalls: [{ name: 'forget_reminder', args: { id: entry?.id } }] }
      },
      { text: 'Forgotten.' },
    )
    const thread = await modes.env.threads.create({ agent: 'assistant', env, message: 'The cat.' })
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).effects).toEqual([])
    await modes.env.sleep('1 hour')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Forgotten.')
  })

  test('a thread without its variables waits for them', async () => {
    voice.says({ toolCalls: [{ name: 'send_mail', args: { text: 'Hello' } }] }, (request) => ({
      text: `${request.messages.at(-1)?.text}`,
    }))
    const thread = await modes.env.threads.create({ agent: 'assistant', message: 'Send a mail.' })
    expect((await thread.waitUntilIdle()).status).toBe('blocked')
    const [request] = (await thread.snapshot()).pending
    expect(request).toMatchObject({ kind: 'variables', missing: ['OWNER', 'MAIL_KEY'] })
    await thread.respond(request?.id ?? '', { env })
    const sent = await thread.waitUntilIdle()
    expect(sent.reply?.content).toBe(`Sent 5 characters with a key of ${env.MAIL_KEY.length}.`)
    expect(chat.requests.at(-1)?.system).toBe('You remind Ann of things.')
  })
})
