import { expect, test } from 'vitest'
import { makeSecret, messageIdOf, secretProblem, signedHeaders } from './signature.js'

test('a signature is that of the test vector of Standard Webhooks', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const signed = { secret, id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1614265330, body: '{"test": 2432232314}' }
  expect(signedHeaders(signed)).toEqual({
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('a secret that is made is valid, and never the same', () => {
  const secrets = Array.from({ length: 20 }, makeSecret)
  expect(secrets.map(secretProblem)).toEqual(secrets.map(() => undefined))
  expect(new Set(secrets).size).toBe(secrets.length)
})

test.each([
  undefined,
  7,
  '',
  'whsec_',
  'whsec_!',
  'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  `whsec_${'QUJD'.repeat(7)}`.slice(0, 20),
])('the secret %j is refused, and is not shown', (secret) => {
  const problem = secretProblem(secret) ?? ''
  expect(problem).toContain('24 to 64 bytes')
  if (typeof secret === 'string' && secret.length > 8) expect(problem).not.toContain(secret)
})

test('an id is the same for the same webhook and event, and of plain characters', () => {
  expect(messageIdOf('wh_1', 'thread ä.1:7')).toBe(messageIdOf('wh_1', 'thread ä.1:7'))
  expect(messageIdOf('wh_1', 't:7')).not.toBe(messageIdOf('wh_2', 't:7'))
  expect(messageIdOf('wh_1', 'thread ä.1:7')).toMatch(/^msg_[0-9a-f]{32}$/)
})
