import { describe, expect, test } from 'vitest'

import { conformancePage, conformanceRows, readRequirements, readTitle } from './conformance.js'
import type { Requirements, TestOutcome } from './conformance.js'

const requirements = readRequirements()

const list: Requirements = {
  requirements: { 'SA-R-05.1': 'Tool calls run in order', 'SA-A-07.10a': 'A message goes down' },
  exceptions: {},
  unavailable: {},
  openParts: {},
}

function rowsOf(tests: readonly TestOutcome[], changes: Partial<Requirements> = {}) {
  return conformanceRows({ ...list, ...changes }, tests).map(({ status, text }) => `${status} ${text}`.trim())
}

test('a title may start with several ids', () => {
  expect(readTitle('SA-R-05.1 SA-A-07.10a tools run')).toEqual({
    ids: ['SA-R-05.1', 'SA-A-07.10a'],
    fact: 'tools run',
  })
  expect(readTitle('tools run').ids).toEqual([])
})

test('ids of all five specifications are read from a title', () => {
  const ids = ['SA-R-05.1', 'SA-A-07.10a', 'K-7', 'AR-S3.10', 'AR-RM.8b', 'KP-13.4', 'PL-CAP.1']
  expect(readTitle(`${ids.join(' ')} tools run`)).toEqual({ ids, fact: 'tools run' })
})

test('numbers of invariants may stand among the ids of a title', () => {
  expect(readTitle('AR-TC.11 T8 PL-CX.6 tools run')).toEqual({
    ids: ['AR-TC.11', 'PL-CX.6'],
    fact: 'T8 tools run',
  })
})

test('a passed test proves every id it names', () => {
  expect(rowsOf([{ title: 'SA-R-05.1 SA-A-07.10a tools run', state: 'passed' }])).toEqual([
    'proved tools run',
    'proved tools run',
  ])
})

test('a missing, failed or skipped test leaves an id open', () => {
  expect(rowsOf([])).toEqual(['open', 'open'])
  expect(
    rowsOf([
      { title: 'SA-R-05.1 tools run', state: 'failed' },
      { title: 'SA-A-07.10a it goes', state: 'skipped' },
    ]),
  ).toEqual(['open failed: tools run', 'open skipped: it goes'])
})

test('one failed test of several leaves an id open', () => {
  const passed = { title: 'SA-R-05.1 tools run', state: 'passed' } as const
  expect(rowsOf([passed, passed, passed])[0]).toBe('proved tools run (+2)')
  expect(rowsOf([passed, { title: 'SA-R-05.1 in order', state: 'failed' }])[0]).toBe('open failed: in order')
})

test('an exception shows its reason, an open part its note', () => {
  const tests = [{ title: 'SA-R-05.1 tools run', state: 'passed' }] as const
  expect(rowsOf(tests, { exceptions: { 'SA-A-07.10a': 'not on Temporal' } })[1]).toBe(
    'excepted not on Temporal',
  )
  expect(rowsOf(tests, { openParts: { 'SA-R-05.1': 'but for prompts' } })[0]).toBe(
    'proved tools run; but for prompts',
  )
})

test('an unavailable id shows its reason and no test', () => {
  const unavailable = { 'SA-A-07.10a': 'there are no processes' }
  expect(rowsOf([], { unavailable })[1]).toBe('unavailable there are no processes')
  expect(() => rowsOf([{ title: 'SA-A-07.10a it goes', state: 'passed' }], { unavailable })).toThrow(
    'SA-A-07.10a',
  )
})

test.each([
  'SA-R-99.1',
  'SA-R-5.1',
  'SA-R-05.1:',
  'sa-r-05.1',
  'SAR-05.1',
  'K-07',
  'AR-VA4',
  'AR_VA.4',
  'KP-4.1.2',
  'PL-RC-1',
])('a title with an unknown or misspelt id is refused, form %#', (id) => {
  expect(() => rowsOf([{ title: `${id} nothing`, state: 'passed' }])).toThrow(id)
})

test('an id behind other words of a title is refused', () => {
  expect(() => rowsOf([{ title: 'tools run as SA-R-05.1 says', state: 'passed' }])).toThrow('SA-R-05.1')
})

test('an id in the title of a group is refused', () => {
  const title = 'it goes'
  expect(rowsOf([{ title, fullName: `default cache > ${title}`, state: 'passed' }])).toEqual(['open', 'open'])
  const fullName = `SA-R-05.1 tools run > ${title}`
  expect(() => rowsOf([{ title, fullName, state: 'passed' }])).toThrow('SA-R-05.1')
})

test('ordinary words with digits and hyphens are no ids', () => {
  const titles = ['a plan2 of arm64 runs', 'UTF-8 and K8s stay', 'a place-3 and 3-2 sided park', 'SA-nothing']
  expect(rowsOf(titles.map((title) => ({ title, state: 'passed' })))).toEqual(['open', 'open'])
})

test('a reason for an unknown id, or two for one, is refused', () => {
  expect(() => rowsOf([], { unavailable: { 'SA-A-07.11': 'no' } })).toThrow('SA-A-07.11')
  const both = { 'SA-A-07.10a': 'no' }
  expect(() => rowsOf([], { exceptions: both, unavailable: both })).toThrow('both for SA-A-07.10a')
})

test('the page has counts by seed and one row an id', () => {
  const all = { ...list, requirements: { ...list.requirements, 'PL-CX.3': 'The caller knows the id' } }
  const page = conformancePage(all, conformanceRows(all, [{ title: 'SA-R-05.1 a | b', state: 'passed' }]))
  expect(page).toContain('| seed | proved | open | excepted | unavailable | all |')
  expect(page).toContain('| 000 Standard Agents, Runtime (SA-R) | 1 | 0 | 0 | 0 | 1 |')
  expect(page).toContain('| 004 runtime layer of Protolink (PL) | 0 | 1 | 0 | 0 | 1 |')
  expect(page).toContain('| **all** | 1 | 2 | 0 | 0 | 3 |')
  expect(page).toContain('| SA-R-05.1 | proved | a \\| b |')
  expect(page).toContain('| SA-A-07.10a | open |  |')
})

describe('the page of the whole list', () => {
  const tests = Object.keys(requirements.requirements)
    .filter((id) => !(id in requirements.unavailable) && !(id in requirements.exceptions))
    .map((id) => ({ title: `${id} works`, state: id === 'AR-MR.1' ? 'failed' : 'passed' }) as const)
  const page = conformancePage(requirements, conformanceRows(requirements, tests))

  test('AR-S2.1 has a status for each of the eleven concerns', () => {
    const concerns = [
      ...page.matchAll(/^\| (\d+)\. [^|]+ \| (covered|partial|unavailable) \| .* (\d+) \|$/gm),
    ]
    expect(concerns.map(([, number]) => number)).toEqual(
      Array.from({ length: 11 }, (_, at) => String(at + 1)),
    )
    // Each has rows of its own, and what is open makes a concern partial.
    expect(concerns.every(([, , , all]) => Number(all) > 0)).toBe(true)
    expect(concerns.map(([, , status]) => status)).toEqual([
      ...Array.from({ length: 8 }, () => 'covered'),
      ...['partial', 'covered', 'unavailable'],
    ])
  })

  test('AR-S1.1 says to which layer each capability belongs', () => {
    const layers = [...page.matchAll(/^\| (core|extension|profile) \| (\w+) \| \w+ \| .+ \|$/gm)]
    expect(layers.map(([, layer, name]) => `${layer} ${name}`)).toEqual([
      ...['identities', 'event_envelope', 'control_plane', 'snapshots', 'ownership'].map(
        (name) => `core ${name}`,
      ),
      ...[
        ...[
          'permission',
          'sandbox',
          'hooks',
          'process',
          'routing',
          'task_graph',
          'subagent',
          'job',
          'channel',
        ],
        ...['history', 'evidence'],
      ].map((name) => `extension ${name}`),
      'profile everthread',
    ])
  })

  test('counts the rows of each section', () => {
    expect(page).toContain('| AR-EN | 2 | 0 | 0 | 0 | 2 |')
    expect(page).toContain('| KP-10 | 2 | 0 | 0 | 0 | 2 |')
    expect(page).toContain('| AR-MR | 6 | 1 | 0 | 0 | 7 |')
  })
})

test('the list has 523 ids of the specifications and names 31 as unavailable', () => {
  const ids = Object.keys(requirements.requirements)
  const count = (beginning: string): number => ids.filter((id) => id.startsWith(beginning)).length
  expect(['SA-R-', 'SA-A-', 'AR-', 'KP-', 'PL-', 'K-'].map(count)).toEqual([86, 84, 232, 50, 71, 30])
  expect(Object.keys(requirements.unavailable)).toHaveLength(31)
  expect(conformanceRows(requirements, [])).toHaveLength(523 + 30)
})
