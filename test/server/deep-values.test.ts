import { expect, test } from 'vitest'

import { serverFixture } from './server-fixture.js'

const { call, fixture } = serverFixture()

/** What `JSON.stringify` takes, and with a replacer does not: a digest was made that way. */
const DEEP: unknown = JSON.parse('['.repeat(3500) + ']'.repeat(3500))

test('T10 metadata that is nested 3,500 times is kept', async () => {
  const { threadId } = await fixture.threads.create({ agent: 'support' })
  const body = { content: 'Hello', metadata: { deep: DEEP } }
  expect(await call(`/threads/${threadId}/messages`, { body })).toMatchObject({ status: 202 })
})
