import { expect, test } from 'vitest'
import { GROUP_BYTES, truncateToFit, fittingMembers } from './report-text.js'

test('a text of as many bytes as fit stays whole', () => {
  expect(truncateToFit('abcé', 5)).toBe('abcé')
})

test.each([
  ['abcé', 4, 'abc'],
  ['ab€', 4, 'ab'],
  ['ab😀', 5, 'ab'],
  ['abcde', 4, 'abcd'],
])('%s is truncated to %i bytes before the character that does not fit', (text, most, head) => {
  const bytes = Buffer.byteLength(text)
  expect(truncateToFit(text, most)).toBe(
    `${head}\n[… cut: ${bytes} bytes in all; the rest is in the registry of subagents only …]`,
  )
})

test('short texts of a group stay whole, and the long ones share the rest', () => {
  const short = 'brief'
  const long = 'x'.repeat(GROUP_BYTES)
  const members = [long, short, long].map((text, index) => ({
    reference: `child-${index}`,
    name: 'helper',
    outcome: 'result' as const,
    text,
    attachments: [],
  }))
  const share = Math.floor((GROUP_BYTES - short.length) / 2)
  const texts = fittingMembers(members).map(({ text }) => text)
  expect(texts[1]).toBe(short)
  for (const text of [texts[0], texts[2]]) {
    expect(text?.startsWith('x'.repeat(share))).toBe(true)
    expect(text?.indexOf('\n')).toBe(share)
  }
})
