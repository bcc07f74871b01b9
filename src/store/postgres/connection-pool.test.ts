import { expect, test } from 'vitest'
import {
  createStatementNames,
  decodeText,
  encodeText,
  GuardedClient,
  PREPARED_STATEMENTS,
} from './connection-pool.js'

test('each statement has its own name, and keeps it', () => {
  const nameOf = createStatementNames()
  const [first, second] = [nameOf('select $1'), nameOf('select $2')]
  expect(first).not.toBe(second)
  expect(nameOf('select $1')).toBe(first)
})

test('statements beyond the limit have no name', () => {
  const nameOf = createStatementNames()
  const texts = Array.from({ length: PREPARED_STATEMENTS + 1 }, (_, length) => `select $${length + 1}`)
  const names = texts.map(nameOf)
  expect(new Set(names).size).toBe(texts.length)
  expect(names.at(-1)).toBeUndefined()
  expect(names.at(-2)).toBeDefined()
})

test.each(['', 'plain 😀', '\0', 'a\0b\0', '\uFDD0', '\uFDD00', '\uFDD01', '\uFDD0\0\uFDD01'])(
  'the text %j comes back without a zero character on its way',
  (text) => {
    expect(encodeText(text)).not.toContain('\0')
    expect(decodeText(encodeText(text))).toBe(text)
  },
)

test('different texts are stored differently', () => {
  expect(encodeText('\0')).not.toBe(encodeText('\uFDD00'))
  expect(encodeText('plain')).toBe('plain')
})

test('the error event of a lost connection does not end the process', () => {
  expect(() => new GuardedClient().emit('error', new Error('Connection terminated'))).not.toThrow()
})
