import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { instanceEnv } from './worker-options.js'

test('a variable that is not set counts as not given', () => {
  expect(instanceEnv({ KEY: 'k', EMPTY: '', MISSING: undefined })).toEqual({ KEY: 'k', EMPTY: '' })
  expect(instanceEnv()).toEqual({})
})

test('wrong variables are named all at once, without values', () => {
  const given = { '': 'x', NUMBER: 7 as never, LONG: 'secret'.repeat(20_000) }
  try {
    expect.fail(JSON.stringify(instanceEnv(given)))
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    expect(error.problems).toHaveLength(3)
    expect(error.message).toContain('"NUMBER"')
    expect(error.message).not.toContain('secret')
  }
})
