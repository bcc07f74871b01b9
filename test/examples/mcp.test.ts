import { expect, test } from 'vitest'

import { neighbours } from '../../examples/mcp/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()

threeModes({ registry: neighbours, models: voice.model, isOnOneStore: true }, (modes) => {
  const start = (message: string) => modes.env.threads.create({ agent: 'keeper', message })

  test('of two servers, the listed tools are offered, and called', async () => {
    voice.says(
      {
        toolCalls: [
          { name: 'find_item', args: { item: 'ladder' } },
          { name: 'math_sum', args: { a: 2, b: 3 } },
        ],
      },
      (request) => ({ text: request.messages.at(-1)?.text ?? '' }),
    )
    const thread = await start('Have you a ladder? And what is 2 and 3?')
    expect((await thread.waitUntilIdle()).reply?.content).toBe(
      'There are 2 of "ladder".\nThe sum of 2 and 3 is 5.',
    )
    const { tools } = await thread.tools()
    expect(tools.map(({ toolName, source, policy }) => [toolName, source, policy])).toEqual([
      ['find_item', 'shed', 'allowed'],
      ['lend_item', 'shed', 'ask'],
      ['math_sum', 'everything', 'allowed'],
    ])
  })

  modes.skippingTime(
    'a loan is approved, the server asks for how long, and the call goes on days later',
    async () => {
      voice.says({ toolCalls: [{ name: 'lend_item', args: { item: 'drill' } }] }, (request) => ({
        text: `Done: ${request.messages.at(-1)?.text}`,
      }))
      const thread = await start('May I have the drill?')
      expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
      const [approval] = (await thread.snapshot()).pending
      await thread.respond(approval?.id ?? '', { approved: true, by: 'ben' })
      expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
      const [question] = (await thread.snapshot()).pending
      expect(question).toMatchObject({
        kind: 'call',
        form: { description: 'For how many days do you need the drill?', required: ['days'] },
      })
      await modes.env.sleep('3 days')
      await thread.respond(question?.id ?? '', { result: { status: 'success', result: { days: 7 } } })
      expect((await thread.waitUntilIdle()).reply?.content).toBe('Done: The drill is lent for 7 days.')
    },
  )
})
