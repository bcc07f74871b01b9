import { describe, expect, test } from 'vitest'

import { seededRandom } from '../../test/support/seeded-random.js'
import { judge } from './judge.js'
import {
  capabilityProblem,
  covers,
  isStricter,
  mergePermissions,
  permissionsProblem,
  rulesFor,
} from './permissions.js'
import type { Effect, Permissions } from './permissions.js'

describe('rules about capabilities', () => {
  test.each([
    ['orders.refund', 'orders.refund', true],
    ['orders.*', 'orders.refund', true],
    ['orders.*', 'orders.refund.large', true],
    ['orders.*', 'orders', false],
    ['orders.*', 'ordersrefund', false],
    ['orders', 'orders.refund', false],
    ['*', 'anything', true],
  ])('PL-CAP.1 the rule "%s" and the capability "%s": %s', (rule, capability, expected) => {
    expect(covers(rule, capability)).toBe(expected)
  })

  test.each([
    ['allow', 'allow'],
    ['require_approval', 'require_approval'],
    ['deny', 'deny'],
    [true, 'allow'],
    [false, 'deny'],
    [{ paths: ['file:///workspace'] }, 'allow'],
  ] as const)('PL-RC.7 the value %j is %s', (value, effect) => {
    expect(rulesFor({ 'fs.read': value }, ['fs.read'])).toEqual([{ rule: 'fs.read', effect }])
  })

  test('PL-CAP.2 deny is stricter than require_approval, which is stricter than allow', () => {
    const pairs = [
      ['deny', 'require_approval'],
      ['require_approval', 'allow'],
      ['deny', 'allow'],
    ] as const
    for (const [one, other] of pairs)
      expect([isStricter(one, other), isStricter(other, one)]).toEqual([true, false])
  })

  test('PL-LC.5 any names are capabilities', () => {
    for (const name of ['a', 'x-ray.ns_2', 'one.two.three.four'])
      expect(capabilityProblem(name)).toBeUndefined()
  })

  test.each([
    ['', '""'],
    ['a..b', '"a..b"'],
    ['a.*', '"a.*"'],
    ['with space', '"with space"'],
    ['__proto__', '"__proto__"'],
    ['x'.repeat(201), `"${'x'.repeat(60)}"`],
    [7, '7'],
    [null, 'null'],
  ])('a capability %j is refused', (name, shown) => {
    expect(capabilityProblem(name)).toMatch(/^expected a capability such as "orders\.refund", of at most 200/)
    expect(capabilityProblem(name)).toContain(`got ${shown}`)
  })

  test.each([
    [[], "expected an object of rules such as { 'orders.*': 'require_approval' }, got an array"],
    [null, "expected an object of rules such as { 'orders.*': 'require_approval' }, got null"],
    [{ 'a*': 'allow' }, 'expected a capability, "namespace.*" or "*" as the key of a rule, got "a*"'],
    [{ 'a.**': 'allow' }, 'expected a capability, "namespace.*" or "*" as the key of a rule, got "a.**"'],
    [
      { a: 'ask' },
      'expected "allow", "require_approval", "deny", true, false or an object for "a", got "ask"',
    ],
    [{ a: null }, 'expected "allow", "require_approval", "deny", true, false or an object for "a", got null'],
    [
      Promise.resolve({}),
      "expected an object of rules such as { 'orders.*': 'require_approval' }, got object",
    ],
    [new Map(), "expected an object of rules such as { 'orders.*': 'require_approval' }, got object"],
    [{ a: { since: 1n } }, 'expected rules that are JSON, got others'],
    [{ a: { since: undefined } }, 'expected rules that are JSON, got others'],
    [{ a: { at: new Date(0) } }, 'expected rules that are JSON, got others'],
    [{ a: { text: 'x'.repeat(70_000) } }, 'expected rules of at most 65536 bytes of JSON, got 70017'],
    [
      JSON.parse('{ "__proto__": "deny" }'),
      'expected a capability, "namespace.*" or "*" as the key of a rule, got "__proto__"',
    ],
    [
      Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`c${index}`, true])),
      'expected at most 1000 rules, got 1001',
    ],
  ])('rules that are wrong are refused: %#', (permissions, problem) => {
    expect(permissionsProblem(permissions)).toBe(problem)
  })
})

/** What 2,000 generated rule sets are compared with: it knows the rules of the seed and nothing of the code. */
function oracle(sources: readonly Permissions[], capabilities: readonly string[]): Effect {
  let answer: Effect = 'allow'
  for (const rules of sources)
    for (const key of Object.keys(rules))
      for (const capability of capabilities) {
        const namespace = key.slice(0, key.length - 1)
        const isAbout =
          key === '*' || key === capability || (key.endsWith('.*') && capability.indexOf(namespace) === 0)
        if (!isAbout) continue
        const value = rules[key]
        if (value === 'deny' || value === false) return 'deny'
        if (value === 'require_approval') answer = 'require_approval'
      }
  return answer
}

const NAMES = ['a', 'a.b', 'a.b.c', 'b', 'b.c', 'ab', 'ab.c'] as const
const KEYS = [...NAMES, '*', 'a.*', 'a.b.*', 'b.*'] as const
const VALUES = ['allow', 'deny', 'require_approval', true, false, { any: 1 }] as const
const SOURCES = ['worker', 'agent', 'account', 'user', 'thread', 'run'] as const
const MEANING = { allowed: 'allow', asked: 'require_approval', denied: 'deny' } as const

describe('rules of several sources', () => {
  test('PL-CAP.2 PL-RC.8 2,000 generated rule sets equal the oracle', () => {
    const random = seededRandom(24)
    const rules = (): Permissions =>
      Object.fromEntries(
        Array.from({ length: random.below(3) }, () => [random.pick(KEYS), random.pick(VALUES)]),
      )
    const seen = new Set<Effect>()
    for (let round = 0; round < 2_000; round += 1) {
      const all = SOURCES.map((source) => ({ source, permissions: rules() }))
      const capabilities = Array.from({ length: random.below(3) }, () => random.pick(NAMES))
      const { decision } = judge({
        traits: { capabilities },
        rules: all,
        opinions: [],
        modes: [],
        interactive: true,
        hasFailed: false,
      })
      const permissions = all.map((one) => one.permissions)
      const expected = oracle(permissions, capabilities)
      expect(MEANING[decision], JSON.stringify({ all, capabilities })).toBe(expected)
      // A run has the rules of several messages in one object.
      expect(oracle([mergePermissions(permissions)], capabilities)).toBe(expected)
      seen.add(expected)
    }
    expect([...seen].toSorted()).toEqual(['allow', 'deny', 'require_approval'])
  })

  test('of equal keys the stricter value counts, and of equally strict ones the first', () => {
    const merged = mergePermissions([
      { a: 'require_approval', b: true, c: { paths: ['x'] } },
      { a: 'allow', b: false, c: { paths: ['y'] } },
      { a: 'deny', b: 'require_approval', d: 'allow' },
    ])
    expect(merged).toEqual({ a: 'deny', b: false, c: { paths: ['x'] }, d: 'allow' })
  })
})
