import { expect, test } from 'vitest'

import { toolSourceProblem } from '../tool-source.js'
import { offerSourceTools, readCatalog } from './source-tools.js'

const object = { type: 'object' } as const
const tool = (name: string, fields: object = {}) => ({
  ...{ name, description: 'Does it', inputSchema: object },
  ...fields,
})
const prompt = (...names: readonly string[]) => ({
  ...{ tools: names.map((name) => tool(name)), subagents: {} },
})
const namesIn = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

test('10,000 tools become 128, and one sentence says how many are missing', () => {
  const listed = Array.from({ length: 10_000 }, (_, index) =>
    tool(`act-${'abcdefghjk'[index % 10]}${index}x`),
  )
  const { tools, problems } = readCatalog('many', listed)
  expect(tools).toHaveLength(128)
  expect(problems.at(-1)).toMatch(/^The source "many" has more than 128 tools: \d+ were left out\.$/)
})

test('10,000 bad tools fill no log', () => {
  const { tools, problems } = readCatalog(
    'bad',
    Array.from({ length: 10_000 }, () => tool('no good')),
  )
  expect(tools).toEqual([])
  expect(problems.length).toBeLessThan(25)
  expect(problems.join('').length).toBeLessThan(4_000)
})

const deep = (levels: number): object => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
const circle: Record<string, unknown> = { type: 'object' }
circle['properties'] = { circle }

test.each([
  ['a name with a blank', tool('look up'), /"look up", which providers refuse/],
  ['a name in Cyrillic', tool('lооk'), /"lооk", which providers refuse/],
  ['a name of 65 characters', tool('a'.repeat(65)), /which providers refuse/],
  ['a name that breaks a line', tool('a\nb'), /"a\\nb", which providers refuse/],
  ['no name', { description: 'x' }, /without a name/],
  ['no description', { name: 'a', inputSchema: object }, /"a" without a description/],
  ['no object', 'look', /something that is no tool/],
  ['a schema of a text', tool('a', { inputSchema: { type: 'string' } }), /is not that of an object/],
  ['a schema of 13 levels', tool('a', { inputSchema: { ...object, ...deep(13) } }), /more than 12 levels/],
  ['a schema that holds itself', tool('a', { inputSchema: circle }), /more than 12 levels/],
  [
    'a schema of 20 KB',
    tool('a', { inputSchema: { ...object, description: 'x'.repeat(20_000) } }),
    /more than 16384 characters/,
  ],
])('%s is left out by name, and the others stay', (_what, given, problem) => {
  const { tools, problems } = readCatalog('one', [given, tool('fine')])
  expect(namesIn(tools)).toEqual(['fine'])
  expect(problems).toEqual([expect.stringMatching(problem)])
})

test.each([
  ['search', 'Search'],
  ['list_l', 'list_1'],
  ['get_item', 'getitem'],
  ['go0d', 'good'],
])('of %s and %s the first counts', (first, second) => {
  const { tools, problems } = readCatalog('one', [tool(first), tool(second)])
  expect(namesIn(tools)).toEqual([first])
  expect(problems).toEqual([
    `The source "one" has the tool "${second}", which looks like its tool "${first}": the first counts.`,
  ])
})

test('a schema of 12 levels is offered, and a long description is cut', () => {
  const { tools, problems } = readCatalog('one', [
    tool('a', { inputSchema: { ...object, ...deep(11) }, description: 'd'.repeat(5_000) }),
  ])
  expect(problems).toEqual([])
  expect(tools[0]?.description).toHaveLength(1_024)
})

test('what is no list is an empty one', () => {
  expect(readCatalog('odd', { tools: [] })).toEqual({
    ...{ source: 'odd', tools: [] },
    problems: ['The source "odd" answered with no list of tools.'],
  })
})

test('a name of the prompt counts before that of a source, and an earlier source before a later one', () => {
  const catalogs = ['first', 'second'].map((source) =>
    readCatalog(source, [tool('look'), tool('find'), tool(`only_${source}`)]),
  )
  const { offered, problems } = offerSourceTools(prompt('Look'), catalogs)
  expect(offered.map(({ source, tool: { name } }) => [source, name])).toEqual([
    ['first', 'find'],
    ['first', 'only_first'],
    ['second', 'only_second'],
  ])
  expect(problems).toHaveLength(3)
  expect(problems[2]).toContain(
    '"find" of the source "second" has the name of the tool "find" of the source "first"',
  )
})

test.each([
  ['a text', 'mcp'],
  ['a source without call()', { name: 'a', list: () => [] }],
  ['a name with a blank', { name: 'a b', list: () => [], call: () => '' }],
])('%s is no source', (_what, value) => {
  expect(toolSourceProblem(value)).toMatch(/^expected a source/)
})
