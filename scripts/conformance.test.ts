import { expect, test } from 'vitest'

import { conformancePage, conformanceRows, readTitle } from './conformance.js'
import type { Requirements, TestOutcome } from './conformance.js'

const list: Requirements = {
  requirements: { 'SA-R-05.1': 'Tool calls run in order', 'SA-A-07.10a': 'A message goes down' },
  exceptions: {},
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
  expect(readTitle('tools run as SA-R-05.1 says').ids).toEqual([])
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

test('a title with an unknown id is refused', () => {
  expect(() => rowsOf([{ title: 'SA-R-99.1 nothing', state: 'passed' }])).toThrow('SA-R-99.1')
})

test('the page has counts and one row an id', () => {
  const page = conformancePage(list, conformanceRows(list, [{ title: 'SA-R-05.1 a | b', state: 'passed' }]))
  expect(page).toContain('1 proved, 1 open, 0 excepted, of 2.')
  expect(page).toContain('| SA-R-05.1 | proved | a \\| b |')
  expect(page).toContain('| SA-A-07.10a | open |  |')
})
