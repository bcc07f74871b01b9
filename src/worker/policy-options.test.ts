import { expect, test } from 'vitest'

import { ConfigError } from '../protocol/errors.js'
import { policyOptions } from './worker-options.js'

function problemsOf(options: object): readonly string[] {
  try {
    policyOptions(options)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

test('the policy of a worker is checked, each wrong option by name', () => {
  const text = problemsOf({ permissions: { a: 'ask' }, permissionMode: 'yolo', policy: 'allow' }).join(' ')
  expect(text).toContain('permissions: expected "allow", "require_approval", "deny"')
  expect(text).toContain(
    'permissionMode: expected one of default, untrusted, on_request, on_failure, never, plan, auto, bypass, got yolo',
  )
  expect(text).toContain('Expected policy to be a function, as definePolicy takes one, got string.')
})

test('only what is set is an option', () => {
  expect(policyOptions({ permissions: undefined, permissionMode: undefined, policy: undefined })).toEqual({})
  const set = { permissions: { '*': 'deny' }, permissionMode: 'plan' } as const
  expect(policyOptions(set)).toEqual(set)
})
