import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { runCaps } from './create-worker.js'

test('a worker without limits gets the hard caps', () => {
  const { stepsPerRun, sessionTurns, repeatedToolErrors } = LIMITS
  expect(runCaps()).toEqual({ stepsPerRun, sessionTurns, repeatedToolErrors })
  expect(runCaps({ stepsPerRun: 5 })).toEqual({ stepsPerRun: 5, sessionTurns, repeatedToolErrors })
})

test('limits that are no counts are named all at once', () => {
  const limits = { stepsPerRun: 0, sessionTurns: 1.5, repeatedToolErrors: Number.NaN }
  try {
    expect.fail(JSON.stringify(runCaps(limits)))
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    expect(error.problems).toEqual([
      'Expected limits.stepsPerRun to be a whole number from 1, got 0.',
      'Expected limits.sessionTurns to be a whole number from 1, got 1.5.',
      'Expected limits.repeatedToolErrors to be a whole number from 1, got NaN.',
    ])
  }
})
