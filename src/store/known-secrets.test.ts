import { describe, expect, test } from 'vitest'

import { noteSecret, redactKnownSecrets } from './known-secrets.js'

describe('a known secret', () => {
  test.each(['ACME_API_KEY', 'GITHUB_TOKEN', 'PGPASSWORD', 'AWS_SECRET_ACCESS_KEY', 'OAUTH_CLIENT_SECRET'])(
    'of the environment is found by the name %s',
    (name) => {
      const text = 'Refused "correct horse battery", /?k=correct%20horse%20battery'
      expect(redactKnownSecrets(text, { [name]: 'correct horse battery' })).toBe(
        `Refused "[secret ${name}]", /?k=[secret ${name}]`,
      )
    },
  )

  test('is not what another variable holds, nor a short word', () => {
    const environment = { PWD: '/home/somebody/work', POSTGRES_PASSWORD: 'postgres', EMPTY_TOKEN: undefined }
    const text = 'postgres cannot open /home/somebody/work'
    expect(redactKnownSecrets(text, environment)).toBe(text)
  })

  test('is found by whoever notes it', () => {
    noteSecret('of chat', 'walnut-and-oak')
    expect(redactKnownSecrets('No such key: walnut-and-oak.', {})).toBe('No such key: [secret of chat].')
  })

  test('may be redacted twice', () => {
    const environment = { ACME_API_KEY: 'correct-horse-1' }
    const text = 'Authorization: Bearer correct-horse-1, then api_key=abcdefgh1 and sk-proj-abcdefghijklmnop1'
    const once = redactKnownSecrets(text, environment)
    expect(once).toBe('Authorization: Bearer [secret ACME_API_KEY], then api_key=[secret] and [secret]')
    expect(redactKnownSecrets(once, environment)).toBe(once)
  })
})

describe('what looks like a secret', () => {
  test.each([
    ['Incorrect API key provided: plain0words.', 'Incorrect API key provided: [secret]'],
    ['Received API Key = sk-abcdefghijklmnop1234, Key Hash', 'Received API Key = [secret], Key Hash'],
    ['no sk-ant-api03-abcdefghij_klmnop here', 'no [secret] here'],
    ['{"authorization":"Bearer abcdefgh-12345"}', '{"authorization":"Bearer [secret]"}'],
    ['authorization: Basic dXNlcjpwYXNz1=', 'authorization: Basic [secret]'],
    ['x-api-key: abcdefgh12', 'x-api-key: [secret]'],
    ['GET https://a.example/v1?key=abcdefgh12&alt=sse', 'GET https://a.example/v1?key=[secret]&alt=sse'],
    ['postgres://user:letmein@host:5432/db', 'postgres://user:[secret]@host:5432/db'],
    ['AIzaSyA1234567890abcdefghijklmnopqrstu', '[secret]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef', '[secret]'],
  ])('is left out: %s', (text, redacted) => {
    expect(redactKnownSecrets(text, {})).toBe(redacted)
  })

  test.each([
    'Bearer authentication is required: see https://a.example:8080/keys@v1',
    'You must provide an API key: required, and a header x-api-key.',
    'invalid x-api-key',
    'sk-learn-is-no-key-of-anybody',
    'the password of the database is wrong, thread t:model_1_1:3',
  ])('leaves ordinary words: %s', (text) => {
    expect(redactKnownSecrets(text, {})).toBe(text)
  })

  test('is found in a long text in linear time', () => {
    const texts = ['api_key=', 'Bearer ', 'a://', 'sk-', 'eyJ', '?key=', 'password='].map((part) =>
      part.repeat(100_000),
    )
    const began = performance.now()
    for (const text of texts) redactKnownSecrets(text, {})
    expect(performance.now() - began).toBeLessThan(30_000)
  })
})
