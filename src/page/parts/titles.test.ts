import { expect, test } from 'vitest'

import { titleOf } from './titles.js'

test('a thread is known by its title, else by its first words, else by its agent', () => {
  const opening = `My tent leaks.\n${'x'.repeat(200)}`
  expect(titleOf({ title: 'Tent', opening, agent: 'support' })).toBe('Tent')
  expect(titleOf({ title: null, opening, agent: 'support' })).toMatch(/^My tent leaks\. x{64}…$/)
  expect(titleOf({ title: ' ', opening: ' \n', agent: 'support' })).toBe('support')
})
