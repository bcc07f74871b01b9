import { expect, test } from 'vitest'

import { readOptions } from './options.js'

test('a command line of the simulation is read', () => {
  expect(readOptions([])).toMatchObject({ schedules: 10_000, seed: 1, replay: null, mutation: null })
  expect(readOptions(['--replay', '0a1z'])).toMatchObject({ replay: [10, 71] })
})

test.each([
  [['--schedules', 'many'], 'a whole number from 1 for --schedules, got "many"'],
  [['--seed', '0'], 'a whole number from 1 for --seed, got "0"'],
  [['--replay', 'abc'], 'a schedule of two digits a choice'],
  [['--mutation', 'none'], 'a name that --mutations prints for --mutation, got "none"'],
  [['--sede', '1'], "'--sede'"],
])('what cannot be understood is said: %j', (line, problem) => {
  expect(() => readOptions(line)).toThrow(problem)
})
