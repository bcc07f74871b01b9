import { expect, test } from 'vitest'

import { serverFixture } from './server-fixture.js'

const { call, fixture } = serverFixture()

/** `JSON.stringify` serializes it only without a replacer, and a digest once used a replacer. */
const DEEP: unknown = JSON.parse('['.repeat(3500) + ']'.repeat(3500))

test('T10 metadata that is nested 3,500 times is kept', async () => {
  const { threadId } = await fixture.threads.create({ agent: 'support' })
  const body = { content: 'Hello', metadata: { deep: DEEP } }
  expect(await call(`/threads/${threadId}/messages`, { body })).toMatchObject({ status: 202 })
})

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const plain = 'application/json'

test.each([
  [
    'JSON 100,000 deep',
    plain,
    Buffer.from(`{"content":"x","metadata":{"d":${nested(100_000)}}}`),
    'nested at most 4000 deep',
  ],
  ['JSON above the bound', plain, Buffer.from(nested(4001)), 'nested at most 4000 deep'],
  [
    'UTF-16 by its name',
    `${plain}; charset=utf-16`,
    Buffer.from('{}', 'utf16le'),
    'UTF-8, got the charset utf-16',
  ],
  ['UTF-16 by its bytes', plain, Buffer.from('{}', 'utf16le'), 'in UTF-8, got UTF-16'],
  ['UTF-16 by its mark', plain, Buffer.from('\uFEFF\u4E00', 'utf16le'), 'in UTF-8, got UTF-16'],
  ['Latin 1', plain, Buffer.from('{"content":"caf\u00E9"}', 'latin1'), 'in UTF-8, got other bytes'],
])('a body of %s is refused with the reason', async (_what, type, body, reason) => {
  const { threadId } = await fixture.threads.create({ agent: 'support' })
  const answer = await call(`/threads/${threadId}/messages`, { body, headers: { 'content-type': type } })
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'bad_request' } } })
  expect(answer.body.error.message).toContain(reason)
})

test('brackets in texts count for no depth, and a mark of UTF-8 for nothing', async () => {
  const { threadId } = await fixture.threads.create({ agent: 'support' })
  const body = Buffer.from(`\uFEFF${JSON.stringify({ content: '"\\[{'.repeat(5000) })}`)
  const headers = { 'content-type': 'application/json; charset=UTF-8' }
  expect(await call(`/threads/${threadId}/messages`, { body, headers })).toMatchObject({ status: 202 })
})
