import fc from 'fast-check'

import { choosingBy, seededRandom } from '../support/seeded-random.js'
import type { SeededRandom } from '../support/seeded-random.js'

/** Texts that break what was not made for them: zero and half characters, other forms, other directions, much of it. */
const AWKWARD = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\uD800',
  'half \uDFFF and \uD83D more',
  '\uFDD0',
  '\uFDD00\uFDD01',
  '\uFFFE\uFFFF',
  '\u202Egnp.exe',
  'e\u0301 é',
  '🏳️‍🌈👩‍👩‍👧‍👦',
  '\u0001\u0007\u001b[31m\u007f\u0085',
  '\r\n\t\v\f\u2028\u2029',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-0',
  "'; drop table messages; --",
  '${process.exit()}',
  '{{7*7}}',
  '%00%2e%2e%2f',
  '../../etc/passwd',
  '</script><script>',
  'everthread:item:1',
  'İIıi ß ﬀ',
  'x'.repeat(10_000),
  '"'.repeat(2_000),
  '\u{10FFFF}'.repeat(300),
] as const

/** What a generator of hostile inputs chooses from; the same for the same seed. */
export interface HostileChoices extends SeededRandom {
  text(): string
  /** Of JSON, nested, wide and strange. */
  json(): unknown
  /** What JavaScript can hold and JSON cannot. */
  anything(): unknown
}

/** The choices of one input: a failure names its number, and that repeats it. */
export function hostileChoices(seed: number, number: number): HostileChoices {
  const { next } = seededRandom(seed * 1_000_003 + number)
  const random = choosingBy(next)
  // Many generators are slow to make: each sample is one of its own seed.
  const sampled = <T>(values: fc.Arbitrary<T>): T =>
    fc.sample(values, { seed: random.below(2 ** 31), numRuns: 1 })[0] as T
  return {
    ...random,
    text: () => (random.chance(0.6) ? random.pick(AWKWARD) : sampled(TEXT)),
    json: () => (random.chance(0.3) ? random.pick(JSON_VALUES) : sampled(NESTED)),
    anything: () => (random.chance(0.5) ? random.pick(ODD_VALUES)() : sampled(ANYTHING)),
  }
}

/** What a value throws that is read: its maker's own error. */
export const TRAP = 'thrown by a trap'

/** Without half characters, which Temporal's own protocol cannot carry. */
export function sendable(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '?')
}

const TEXT = fc.string({ unit: 'binary', maxLength: 60 })
const KEY = fc.oneof(TEXT, fc.constantFrom('__proto__', 'constructor', 'length', 'then', 'toJSON', 'type'))
const NESTED = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.dictionary(KEY, fc.jsonValue({ maxDepth: 2 })),
  fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 40 }),
)
const ANYTHING = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
  withObjectString: true,
  maxDepth: 3,
})

const JSON_VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1e308, 1.5, '', 'text', [], {}, [[]], [null]],
  { undecodable: true },
  { undecodable: false, messageId: 7 },
  { toString: 1, valueOf: null },
  JSON.parse('{"__proto__": {"agent": "desk"}, "constructor": {"prototype": 1}}'),
  deep(600),
  Array.from({ length: 3000 }, () => 0),
  { content: null, messageId: null },
]

/** Each made when it is asked for. */
const ODD_VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => -Infinity,
  () => 7n,
  () => Symbol('odd'),
  () => () => 'a function',
  () => ring(),
  () => deep(20_000),
  () => new Date(Number.NaN),
  () => new Map([[{}, 1]]),
  () => new Proxy({}, { get: thrower, has: thrower, ownKeys: thrower, getOwnPropertyDescriptor: thrower }),
  () => Object.defineProperty({}, 'value', { enumerable: true, get: thrower }),
  () => ({ toJSON: thrower }),
  () => ({ toJSON: () => undefined }),
  () => ({ toString: thrower, [Symbol.toPrimitive]: thrower }),
  () => Object.create(null) as unknown,
  () => new (class Odd {})(),
  () => new Error('odd', { cause: ring() }),
  () => new Uint8Array(3),
  () => Promise.resolve(7),
  () => /odd/g,
  () => 'x'.repeat(300_000),
]

function thrower(): never {
  throw new Error(TRAP)
}

function ring(): object {
  const value: { self?: object } = {}
  value.self = value
  return value
}

/** JSON inside JSON. */
function deep(levels: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value }
  return value
}
