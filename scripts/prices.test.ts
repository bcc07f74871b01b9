import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import table from '../src/definitions/prices/price-table.json' with { type: 'json' }
import { patternOf, rowOf, tableText } from './prices.js'
import type { Match, SourceModel } from './prices.js'

const PRICES = { input_mtok: 1, output_mtok: 2, cache_read_mtok: 0.1 }
const row = (prices: SourceModel['prices'], day = '2026-06-01'): readonly unknown[] =>
  rowOf({ id: 'm', match: { equals: 'm' }, prices }, day)

test.each<readonly [Match, readonly string[], readonly string[]]>([
  [{ equals: 'GPT-5.1' }, ['gpt-5.1'], ['gpt-5x1', 'gpt-5.1-mini', 'a-gpt-5.1']],
  [{ starts_with: 'a+' }, ['a+', 'a+b'], ['aa', 'ba+']],
  [{ ends_with: 'z' }, ['z', 'yz'], ['zy']],
  [{ contains: 'm.n' }, ['am.nb'], ['mxn']],
  [{ regex: String.raw`^m-\d{2}$` }, ['m-01'], ['m-1']],
  [{ or: [{ equals: 'a' }, { starts_with: 'b' }] }, ['a', 'bc'], ['ab', 'cb']],
  [{ and: [{ starts_with: 'a' }, { contains: 'x' }] }, ['abx', 'ax'], ['a', 'bax']],
  [{ and: [{ or: [{ equals: 'ab' }, { ends_with: 'c' }] }, { starts_with: 'a' }] }, ['ab', 'axc'], ['bc']],
])('the pattern of %j matches %j and not %j', (match, yes, no) => {
  const pattern = new RegExp(patternOf(match))
  expect([...yes, ...no].filter((id) => pattern.test(id))).toEqual(yes)
})

test('a row has the prices of the day, and those of a long input', () => {
  expect(row(PRICES)).toEqual(['^m$', 1, 2, 0.1])
  expect(row({ input_mtok: 1, output_mtok: 2 })).toEqual(['^m$', 1, 2, null])
  const long = { input_mtok: { base: 1, tiers: [{ start: 200_000, price: 3 }] }, output_mtok: 2 }
  expect(row(long)).toEqual(['^m$', 1, 2, null, 200_000, 3, 2, null])
  const dated = [
    { prices: PRICES },
    { constraint: { type: 'start_date', start_date: '2026-05-01' }, prices: { ...PRICES, input_mtok: 5 } },
    { constraint: { type: 'start_date', start_date: '2026-07-01' }, prices: { ...PRICES, input_mtok: 9 } },
  ] as const
  expect(row(dated)[1]).toBe(5)
  expect(row(dated, '2026-07-01')[1]).toBe(9)
})

test('of prices that depend on the hour the highest are taken', () => {
  const night = { constraint: { type: 'time_of_date' }, prices: { ...PRICES, input_mtok: 0.5 } } as const
  const day = { constraint: { type: 'time_of_date' }, prices: { ...PRICES, input_mtok: 3 } } as const
  expect(row([{ prices: PRICES }, night, day])[1]).toBe(3)
  expect(row([{ prices: PRICES }, night])[1]).toBe(1)
})

test.each([{}, { input_mtok: 1 }, { output_mtok: 1 }, { ...PRICES, requests_kcount: 5 }])(
  'a model of which %j is known has a row without prices, so that no later row counts',
  (prices) => expect(row(prices)).toEqual(['^m$']),
)

test('two tiers are refused: a row has one', () => {
  const tiers = [1000, 2000].map((start) => ({ start, price: 2 }))
  expect(() => row({ input_mtok: { base: 1, tiers }, output_mtok: 2 })).toThrow('Expected one tier')
})

test('the table is JSON with a line for each model', () => {
  const head = { source: 's 1', licence: 'MIT', date: '2026-06-01' }
  const match = { equals: 'm' }
  const provider = { models: [{ id: 'm', match, prices: PRICES }], fallback_model_providers: ['b', 'other'] }
  const providers = new Map(Object.entries({ a: provider, b: { models: [] } }))
  const text = tableText(head, providers)
  expect(text.split('\n')).toContain('["^m$",1,2,0.1]]},')
  expect(JSON.parse(text)).toEqual({
    ...head,
    providers: {
      a: { fallbacks: ['b'], models: [['^m$', 1, 2, 0.1]] },
      b: { fallbacks: [], models: [] },
    },
  })
})

test('the guide has the date of the table', () => {
  const guide = readFileSync(join(import.meta.dirname, '../docs/guide/costs.md'), 'utf8')
  expect(guide).toContain(` as of ${table.date}`)
})
