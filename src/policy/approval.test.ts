import { describe, expect, test } from 'vitest'

import {
  answererProblem,
  approvalRuleProblem,
  combineApprovalRules,
  demandsMore,
  isRestricted,
} from './approval.js'
import { readPreview } from './preview.js'
import { hiddenField, redactFields, restoreFields } from './redact-fields.js'

describe('the rule of an approval', () => {
  test.each([
    ['manager', 'expected { roles, fourEyes, expiresIn }, got something else'],
    [{ role: 'a' }, 'expected roles, fourEyes and expiresIn only, got "role"'],
    [{ roles: [] }, 'expected roles to be a list of 1 to 100 names'],
    [{ roles: ['a', ''] }, 'expected roles to be a list of 1 to 100 names'],
    [{ fourEyes: 'yes' }, 'expected fourEyes to be true or false'],
    [{ expiresIn: 0 }, 'expected expiresIn to be whole milliseconds from 1 to 31622400000, got 0'],
    [{ expiresIn: Number.NaN }, 'expected expiresIn to be whole milliseconds from 1 to 31622400000, got NaN'],
    [{ expiresIn: '1h' }, 'expected expiresIn to be whole milliseconds from 1 to 31622400000, got string'],
  ])('%j is refused', (rule, problem) => {
    expect(approvalRuleProblem(rule)).toBe(problem)
  })

  test.each([
    [{ fourEyes: true }, {}, true],
    [{ roles: [['a']] }, { roles: [['b']] }, true],
    [{ roles: [['a']] }, { roles: [['a'], ['b']], fourEyes: true }, false],
    [{}, {}, false],
  ] as const)('%j demands more than %j: %s', (now, answered, expected) => {
    expect(demandsMore(now, answered)).toBe(expected)
  })

  test('four eyes need a user for whom the thread works', () => {
    const caller = { account: null, user: 'ben' }
    expect(answererProblem({ fourEyes: true }, caller, null)).toContain('the thread has none')
  })

  test('the rules of several sources are as strict as all of them together', () => {
    const rules = [
      { roles: ['a'], expiresIn: 9 },
      undefined,
      { roles: ['b', 'c'], fourEyes: true, expiresIn: 5 },
    ]
    expect(combineApprovalRules(rules)).toEqual({ roles: [['a'], ['b', 'c']], fourEyes: true, expiresIn: 5 })
    expect(combineApprovalRules([undefined, {}])).toEqual({})
    expect(isRestricted({ expiresIn: 5 })).toBe(false)
  })

  test.each([
    [{}, undefined, undefined],
    [{ roles: [['a', 'b']] }, undefined, 'somebody with one of the roles a, b'],
    [{ roles: [['a'], ['b']] }, { account: null, roles: ['a'] }, 'somebody with one of the roles b'],
    [{ roles: [['a'], ['b']] }, { account: null, roles: ['b', 'a'] }, undefined],
    [{ fourEyes: true }, { account: 'x' }, 'a known user, because two persons have to agree'],
    [
      { fourEyes: true },
      { account: 'x', user: 'ann' },
      'another user than the one for whom the thread works',
    ],
    [{ fourEyes: true }, { account: 'x', user: 'ben' }, undefined],
  ] as const)('%j and the caller %j: %s', (rule, caller, problem) => {
    expect(answererProblem(rule, caller, 'ann')).toBe(problem)
  })
})

describe('fields with secret names', () => {
  const original = {
    password: 'p',
    'api-key': 'k',
    nested: [{ accessToken: 't', maxTokens: 5 }],
    pin: 1234,
    pinned: true,
    secret: null,
  }

  test('are hidden wherever they are, by their names', () => {
    expect(redactFields(original)).toEqual({
      password: '[redacted]',
      'api-key': '[redacted]',
      nested: [{ accessToken: '[redacted]', maxTokens: 5 }],
      pin: '[redacted]',
      pinned: true,
      secret: null,
    })
  })

  test('keep their values in a changed copy, unless they are changed too', () => {
    const shown = redactFields(original) as typeof original
    expect(restoreFields(shown, original)).toEqual(original)
    expect(restoreFields({ ...shown, password: 'new' }, original)).toEqual({ ...original, password: 'new' })
    expect(restoreFields({ token: '[redacted]', note: '[redacted]' }, {})).toEqual({
      ...{ token: '[redacted]', note: '[redacted]' },
    })
  })

  test('stay hidden where it is not sure whose they are, and that is told', () => {
    const list = [
      { name: 'a', password: 'A' },
      { name: 'b', password: 'B' },
    ]
    const [first, second] = redactFields(list) as typeof list
    expect(restoreFields([first, second] as never, list)).toEqual(list)
    for (const changed of [[second], [second, first], [{ ...first, name: 'c' }, second]]) {
      const restored = restoreFields(changed as never, list)
      expect(hiddenField(restored)).toBe('password')
      expect(JSON.stringify(restored)).not.toContain('"A"')
    }
    expect(hiddenField({ renamed_token: 1, note: '[redacted]' })).toBeUndefined()
  })
})

describe('a preview', () => {
  test('is a text, a part or several', () => {
    expect(readPreview('a')).toEqual([{ type: 'text', text: 'a' }])
    const parts = [
      { type: 'diff', before: 'a', after: 'b', title: 'c' },
      { type: 'file', path: '/a' },
    ] as const
    expect(readPreview(parts)).toBe(parts)
    expect(readPreview({ type: 'json', value: null })).toEqual([{ type: 'json', value: null }])
  })

  test.each([
    [undefined],
    [7],
    [{ type: 'html', html: '<b>' }],
    [{ type: 'text' }],
    [{ type: 'diff', before: 'a' }],
    [{ type: 'text', text: 'a', title: 5 }],
    [{ type: 'text', text: 'x'.repeat(70_000) }],
    [{ type: 'json', value: 1n }],
    [Array.from({ length: 51 }, () => ({ type: 'text', text: 'a' }))],
  ])('that is none is refused: %#', (preview) => {
    expect(readPreview(preview)).toMatch(/^Expected /)
  })
})
