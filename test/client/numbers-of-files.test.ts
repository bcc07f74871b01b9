import { expect, test } from 'vitest'

import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

/** More than an `integer` of PostgreSQL holds, and than JavaScript reads back from SQLite. */
test.each([2 ** 31, 2 ** 60, 1e300])('an attachment that is %s wide is refused by name', async (width) => {
  const thread = await fixture.threads.create({ agent: 'support' })
  const file = { name: 'a.png', mimeType: 'image/png', data: Buffer.from('text'), width }
  await expect(thread.send({ content: 'Look', attachments: [file] })).rejects.toMatchObject({
    code: 'message_rejected',
    message: `Expected "width" of attachment "a.png" to be a whole number up to 2147483647, got ${width}.`,
  })
  await thread.send({ content: 'Look', attachments: [{ ...file, width: 2 ** 31 - 1 }] })
  const { messages } = await thread.messages()
  expect(messages).toMatchObject([{ attachments: [{ width: 2 ** 31 - 1 }] }])
})

test('an account has at most 200 characters', async () => {
  const made = fixture.threads.create({ agent: 'support', account: 'a'.repeat(201) })
  await expect(made).rejects.toMatchObject({ name: 'ConfigError' })
  await fixture.threads.create({ agent: 'support', account: 'a'.repeat(200) })
})
