import { expect, test } from 'vitest'
import { fairnessKey } from './thread-workflow.js'

test('a short account is its own key', () => {
  expect(fairnessKey('acme')).toBe('acme')
  expect(fairnessKey('ä'.repeat(32))).toBe('ä'.repeat(32))
})

test('a long account is its digest, and two differ', () => {
  const keys = ['ä'.repeat(33), 'a'.repeat(65), `${'a'.repeat(64)}b`].map(fairnessKey)
  for (const key of keys) expect(Buffer.byteLength(key)).toBe(64)
  expect(new Set(keys).size).toBe(3)
})
