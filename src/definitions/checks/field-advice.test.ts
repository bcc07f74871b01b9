import { expect, test } from 'vitest'

import { adviseOnField } from './field-advice.js'

const known = ['name', 'maxSteps', 'sessionStop']

test.each([
  ['sideA.maxTurns', 'maxTurns', 'uses the old name sideA.maxTurns: write maxSteps'],
  ['maxTurns', 'maxTurns', 'uses the old name maxTurns: write maxSessionTurns'],
  ['providerTools', 'providerTools', 'uses what is not supported yet: providerTools'],
  ['tags', 'tags', 'has tags: give them to a thread as it is created, with create({ tags })'],
  ['hidden', 'hidden', 'uses hidden of Standard Agents 0.2.0, expected 0.1.0: leave it out'],
  ['nam', 'nam', 'has the unknown field nam'],
])('the field %s is explained', (path, field, sentence) => {
  expect(adviseOnField(path, { field, known })).toContain(sentence)
})

test('a field that is like none is answered with those that there are', () => {
  expect(adviseOnField('zzz', { field: 'zzz', known })).toBe(
    'has the unknown field zzz: its fields are name, maxSteps, sessionStop',
  )
})
