import { expect, test } from 'vitest'
import { readTokens, readToolWorkers } from './serve.js'

test("tokens come one a line or by commas, with their account or an operator's", () => {
  const text = `# of the shop
first-token-of-acme acme
operators-own-token

second-token  Acme Outdoor, third-token`
  expect(readTokens(text)).toEqual([
    { token: 'first-token-of-acme', account: 'acme' },
    { token: 'operators-own-token' },
    { token: 'second-token', account: 'Acme Outdoor' },
    { token: 'third-token' },
  ])
})

test.each(['', ' \n# none\n'])('no token in %j is said, with how to make one', (text) => {
  expect(() => readTokens(text)).toThrow('openssl rand -hex 32')
})

test('tool workers come one a line or by commas, each with its queues', () => {
  const text = `# in Python
token-of-the-python-workers python-tools python-gpu

token-of-others ruby, token-without-queues`
  expect(readToolWorkers(text)).toEqual([
    { token: 'token-of-the-python-workers', taskQueues: ['python-tools', 'python-gpu'] },
    { token: 'token-of-others', taskQueues: ['ruby'] },
    { token: 'token-without-queues', taskQueues: [] },
  ])
  expect(readToolWorkers('# none yet\n')).toEqual([])
})
