import { expect, test } from 'vitest'
import { createSecretBox, secretKeys } from './secret-box.js'

const bytes = Buffer.from('0123456789abcdefghijklmnopqrstuv')
const [hex, base64] = [bytes.toString('hex'), bytes.toString('base64')]
const place = { threadId: 't', name: 'TOKEN' }

test('a key is the same as hex, base64 and base64url', () => {
  const [one, two, three] = [hex, base64, bytes.toString('base64url')].map((secretKey) =>
    secretKeys({ secretKey }, {}),
  )
  expect(one?.[0]?.bytes.equals(bytes)).toBe(true)
  expect(two).toEqual(one)
  expect(three).toEqual(one)
})

test('the options win over the environment, and no key is needed', () => {
  const other = 'ab'.repeat(32)
  const [given] = secretKeys({ secretKey: hex }, { EVERTHREAD_SECRET_KEY: other })
  const [read] = secretKeys({}, { EVERTHREAD_SECRET_KEY: other })
  expect(given?.id).not.toBe(read?.id)
  expect(secretKeys({}, {})).toEqual([])
})

test.each([['short'], [`${'ab'.repeat(31)}`], [`${'ab'.repeat(32)},`], ['ü'.repeat(43)]])(
  'an invalid key is refused and not shown: %s',
  (secretKey) => {
    const read = () => secretKeys({ secretKey }, {})
    expect(read).toThrow('Expected store.secretKey to hold keys of 32 bytes')
    expect(read).not.toThrow(secretKey)
  },
)

test('a box seals with its first key and opens with all', () => {
  const old = createSecretBox(secretKeys({ secretKey: hex }, {}))
  const rotated = createSecretBox(secretKeys({ secretKey: `${'ab'.repeat(32)},${hex}` }, {}))
  const sealed = old.seal('canary', place)
  expect(old.seal('canary', place).value).not.toBe(sealed.value)
  expect(rotated.open(sealed, place)).toBe('canary')
  expect(rotated.seal('', place).keyId).toBe(rotated.keyIds[0])
  expect(rotated.open(rotated.seal('', place), place)).toBe('')
  expect(() => old.open(rotated.seal('x', place), place)).toThrow('another one or none')
})
