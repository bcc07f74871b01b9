import { expect, test } from 'vitest'
import { readTokens } from './serve.js'

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
